//! Enumerations whose variants have names.

/// An enumeration that lists its variants and prints as their names.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $Named:ident { $($(#[$of:meta])* $Variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Named {
            $($(#[$of])* $Variant,)+
        }

        impl $Named {
            /// All of them.
            pub const ALL: [$Named; [$($Named::$Variant),+].len()] = [$($Named::$Variant),+];

            /// Its name, as it is written and printed.
            pub const fn name(self) -> &'static str {
                match self {
                    $($Named::$Variant => $name,)+
                }
            }
        }

        impl ::std::fmt::Display for $Named {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use named;
