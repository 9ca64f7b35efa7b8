//! Settings that are one of a few names, the same in configs and on the command line.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::reader::Node;
use crate::Result;
use crate::named::named;

/// An enumeration whose variants have names.
macro_rules! choice {
    ($(#[$doc:meta])* $choice:ident { $($(#[$of:meta])* $variant:ident = $name:literal,)+ }) => {
        named! {
            $(#[$doc])*
            #[derive(Default, Serialize, Deserialize)]
            pub enum $choice {
                $($(#[$of])* #[serde(rename = $name)] $variant = $name,)+
            }
        }

        impl $choice {
            pub(super) fn read(node: &Node<'_>) -> Result<$choice> {
                let expected = format!("one of {}", [$(concat!("\"", $name, "\"")),+].join(", "));
                node.string(&expected)?.parse().map_err(|_| node.expected(&expected))
            }
        }

        impl FromStr for $choice {
            type Err = String;

            fn from_str(text: &str) -> Result<$choice, String> {
                let found = $choice::ALL.into_iter().find(|choice| choice.name() == text);
                found.ok_or_else(|| format!("found `{text}`, expected one of {}", [$($name),+].join(", ")))
            }
        }
    };
}

choice! {
    /// Where candidates come from.
    Strategy {
        /// Evolution of the whole space, guided by a cost model.
        #[default]
        Evolution = "evolution",
        /// Random draws of the whole space.
        Random = "random",
        /// What the config's generators list.
        Enumerate = "enumerate",
    }
}

choice! {
    /// What a program's caches hold when it calls a kernel.
    Cache {
        /// The operands, as far as they fit: of calls in a row.
        #[default]
        Warm = "warm",
        /// The output alone: each call has other inputs, as each layer of a model has its own weights.
        Rotated = "rotated",
        /// Other data: much else runs between two calls.
        Cold = "cold",
    }
}

impl Cache {
    /// Whether it is what is measured where nothing was asked for.
    pub fn is_warm(&self) -> bool {
        *self == Cache::Warm
    }
}

choice! {
    /// What guides an evolution.
    Model {
        /// What the machine allows, by its data sheet and its caches.
        #[default]
        Analytic = "analytic",
        /// The same, corrected by what was measured so far.
        Learned = "learned",
        /// Random numbers: the baseline of a search without knowledge of the machine.
        Random = "random",
    }
}
