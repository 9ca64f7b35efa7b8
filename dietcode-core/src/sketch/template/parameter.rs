//! The parameters of a family: one table, of which the reader of configs, the checks, names, constants and generators are made.
//!
//! A row is a key of a config, with the fields that hold its value: one, or two for a pair such as `work_item_sizes`.

use std::collections::BTreeMap;

use dietcode_syntax::Role;
use serde::{Deserialize, Serialize};

use super::condition::{Condition, SIZES};
use crate::Result;
use crate::ir::Block;
use crate::sketch::refused;

/// A row of a family's table.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The key in a config.
    pub key: &'static str,
    /// What stands before its values in the name of a configuration.
    tag: &'static str,
    /// Which values there are.
    pub kind: Kind,
    /// What holds where a config says nothing.
    pub absent: Absent,
}

/// Which values a parameter may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Yes or no.
    Flag,
    /// A whole number from 1 to this.
    Size(i64),
    /// Two sizes, such as rows and columns.
    Pair,
    /// 2, 4, 8 or 16; none: as many as the CPU's registers hold.
    Lanes,
    /// The name of a spatial loop, or none.
    Loop,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words, or none.
    WordOrNone(&'static [&'static str]),
    /// For each of some names a size from 1 to this.
    Sizes(Named, i64),
    /// Some names, in an order.
    Names(Named),
    /// For each of some inputs how it is staged.
    Stages,
    /// A size that other programs read, and this one does not.
    Unused,
}

/// What a name is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// The nest's loops.
    Loop,
    /// Its loops that are not summed over.
    Spatial,
    /// Those that are.
    Reduce,
    /// The tensors that its reduction reads.
    Input,
}

/// What holds where a config does not have a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// It is an error.
    Error,
    /// Nothing is named, flags are not set, numbers are 1.
    Least,
    /// This size.
    Size(i64),
    /// Each of the words.
    AllWords,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "each is that of the kind of its name")]
pub enum Value {
    None,
    Flag(bool),
    Size(i64),
    Pair([i64; 2]),
    Word(String),
    Sizes(BTreeMap<String, i64>),
    Names(Vec<String>),
    Stages(BTreeMap<String, Stage>),
    Unused,
}

/// How an input is staged in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stage {
    /// How many neighbours are copied at once.
    pub vector: i64,
    /// Unused elements behind each row.
    pub pad: i64,
    /// Neighbours that stay together where the rows are swizzled instead: 16 or 32 bytes of them, or 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub swizzle: i64,
    /// Whether the summed dimensions lie outside of the spatial one; else the tile lies as the tensor does.
    pub reduce_outside: bool,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl Default for Stage {
    fn default() -> Stage {
        Stage { vector: 1, pad: 0, swizzle: 0, reduce_outside: false }
    }
}

impl Parameter {
    /// One that a config must say.
    pub(super) const fn required(key: &'static str, tag: &'static str, kind: Kind) -> Parameter {
        Parameter { key, tag, kind, absent: Absent::Error }
    }

    /// One that need not be said.
    pub(super) const fn optional(key: &'static str, tag: &'static str, kind: Kind) -> Parameter {
        Parameter { key, tag, kind, absent: Absent::Least }
    }

    /// One for which something else holds where a config says nothing.
    pub(super) const fn or(self, absent: Absent) -> Parameter {
        Parameter { absent, ..self }
    }

    /// The values of a generator without this key; none: it must have it.
    pub fn values(&self) -> Option<Vec<Value>> {
        match (self.absent, self.kind) {
            (Absent::Error, _) => None,
            (Absent::Size(size), _) => Some(vec![Value::Size(size)]),
            (Absent::AllWords, Kind::Word(words)) => {
                Some(words.iter().map(|word| Value::Word((*word).to_owned())).collect())
            }
            (Absent::Least | Absent::AllWords, kind) => Some(vec![kind.least()]),
        }
    }

    /// Whether something else would hold without a value.
    fn is_said(&self, value: &Value) -> bool {
        self.absent != Absent::Least || *value != self.kind.least()
    }

    /// The names of a nest that a value has.
    fn names<'v>(&self, value: &'v Value) -> Vec<&'v String> {
        match value {
            Value::Word(name) if self.kind == Kind::Loop => vec![name],
            Value::Sizes(sizes) => sizes.keys().collect(),
            Value::Names(names) => names.iter().collect(),
            Value::Stages(stages) => stages.keys().collect(),
            _ => Vec::new(),
        }
    }

    /// Names that a value has and a nest has not.
    pub(crate) fn unknown(&self, value: &Value, block: &Block, found: &mut Vec<String>) {
        let of = match self.kind {
            Kind::Sizes(of, _) | Kind::Names(of) => of,
            Kind::Stages => Named::Input,
            Kind::Loop => Named::Loop,
            _ => Named::Spatial,
        };
        let (key, names) = (self.key, self.names(value));
        let unknown = names.iter().filter(|name| !of.is_in(block, name));
        found.extend(unknown.map(|name| format!("{key}: `{name}` is not {} of `{}`", of.expected(), block.name)));
        let twice = (1..names.len()).find(|&n| names[..n].contains(&names[n]));
        found.extend(twice.map(|n| format!("{key}: `{}` is named twice", names[n])));
    }

    /// Sizes of a value that are out of range.
    fn out_of_range(&self, value: &Value, found: &mut Vec<String>) {
        let mut check = |what: &str, size: i64, most: i64| {
            if !(1..=most).contains(&size) {
                found.push(format!("{}: {what} is {size}, expected 1 to {most}", self.key));
            }
        };
        match (value, self.kind) {
            (Value::Size(size), Kind::Size(most)) => check("it", *size, most),
            (Value::Size(lanes), Kind::Lanes) if ![1, 2, 4, 8, 16].contains(lanes) => {
                found.push(format!("{}: they are {lanes}, expected 1, 2, 4, 8 or 16", self.key));
            }
            (Value::Sizes(sizes), Kind::Sizes(_, most)) => {
                sizes.iter().for_each(|(name, size)| check(&format!("`{name}`"), *size, most));
            }
            _ => {}
        }
    }
}

impl Kind {
    /// A size whose products the conditions compute.
    pub(super) const SIZE: Kind = Kind::Size(*SIZES.end());

    /// What holds where nothing is said.
    fn least(self) -> Value {
        match self {
            Kind::Flag => Value::Flag(false),
            Kind::Size(_) => Value::Size(1),
            Kind::Pair => Value::Pair([1, 1]),
            Kind::Word(words) => Value::Word(words[0].to_owned()),
            Kind::Lanes | Kind::Loop | Kind::WordOrNone(_) => Value::None,
            Kind::Sizes(..) => Value::Sizes(BTreeMap::new()),
            Kind::Names(_) => Value::Names(Vec::new()),
            Kind::Stages => Value::Stages(BTreeMap::new()),
            Kind::Unused => Value::Unused,
        }
    }
}

impl Named {
    fn is_in(self, block: &Block, name: &str) -> bool {
        let is_loop = |role: Option<Role>| {
            block.iters.iter().any(|iter| *iter.name == *name && role.is_none_or(|role| iter.role == role))
        };
        match self {
            Named::Loop => is_loop(None),
            Named::Spatial => is_loop(Some(Role::Spatial)),
            Named::Reduce => is_loop(Some(Role::Reduce)),
            Named::Input => block.update_reads().iter().any(|(buffer, _)| *buffer.name == *name),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Named::Loop => "a loop",
            Named::Spatial => "a spatial loop",
            Named::Reduce => "a reduction loop",
            Named::Input => "an input of the reduction",
        }
    }
}

impl Value {
    /// The value of a row from those of its fields.
    fn joined(mut fields: Vec<(&'static str, Value)>) -> Value {
        match &fields[..] {
            [] => Value::Unused,
            [(_, Value::Size(first)), (_, Value::Size(second))] => Value::Pair([*first, *second]),
            _ => fields.swap_remove(0).1,
        }
    }

    /// The values of its fields.
    pub(super) fn fields(self) -> Vec<Value> {
        match self {
            Value::Unused => Vec::new(),
            Value::Pair(pair) => pair.map(Value::Size).into(),
            one => vec![one],
        }
    }

    /// As a constant of C: flags are 0 or 1, words are numbered; none: it is no number.
    fn number(&self, kind: Kind) -> Option<i64> {
        match (self, kind) {
            (Value::Flag(flag), _) => Some(i64::from(*flag)),
            (Value::Size(size), _) => Some(*size),
            (Value::Word(word), Kind::Word(words)) => words.iter().position(|known| known == word).map(|at| at as i64),
            _ => None,
        }
    }
}

/// A family's parameters as a table, which the macro [`template`] makes.
pub(super) trait Table {
    /// The family's name, as a config writes it.
    fn family(&self) -> &'static str;

    /// The rows.
    fn parameters(&self) -> &'static [Parameter];

    /// For each row its fields: their names and values.
    fn rows(&self) -> Vec<Vec<(&'static str, Value)>>;

    /// What must hold on every nest and device, in a fixed order.
    fn conditions(&self) -> Vec<Condition>;
}

impl dyn Table + '_ {
    /// The value of each row.
    pub(super) fn values(&self) -> impl Iterator<Item = (&'static Parameter, Value)> {
        self.parameters().iter().zip(self.rows().into_iter().map(Value::joined))
    }

    /// Those without which something else would hold.
    pub(super) fn said(&self) -> impl Iterator<Item = (&'static Parameter, Value)> {
        self.values().filter(|(parameter, value)| parameter.is_said(value))
    }

    /// The fields with what is said, by their names in JSON: a field that is alone in its row is called by the row's key.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let rows = self.parameters().iter().zip(self.rows()).filter(|(row, fields)| match &fields[..] {
            [(_, value)] => row.is_said(value),
            _ => true,
        });
        rows.flat_map(|(row, fields)| match &fields[..] {
            [(_, value)] => vec![(row.key, value.clone())],
            _ => fields,
        })
    }

    /// The parameters as constants of C; none: some of them are no numbers.
    pub(super) fn constants(&self) -> Option<Vec<(&'static str, i64)>> {
        let rows = self.parameters().iter().zip(self.rows());
        let fields = rows.flat_map(|(row, fields)| fields.into_iter().map(|(name, value)| (row.kind, name, value)));
        fields.map(|(kind, name, value)| Some((name, value.number(kind)?))).collect()
    }

    /// Refuses names that a nest has not, and sizes that are out of range.
    ///
    /// # Errors
    /// Each name with what it should be one of, or each size with its range.
    pub(super) fn check(&self, block: &Block) -> Result<()> {
        let (mut unknown, mut sizes) = (Vec::new(), Vec::new());
        for (parameter, value) in self.values() {
            parameter.unknown(&value, block, &mut unknown);
            parameter.out_of_range(&value, &mut sizes);
        }
        refused(&unknown)?;
        refused(&sizes)
    }

    /// Whether all plain sizes are in the range in which the conditions' products are exact.
    pub(super) fn in_range(&self) -> bool {
        self.rows().iter().flatten().all(|(_, value)| match value {
            Value::Size(size) => SIZES.contains(size),
            _ => true,
        })
    }

    /// The family and what is said, the flags last: `local_c64_i4x8_w8x16_t1x2_v4_double`. And whether it reads in one way: not
    /// where a name of the nest ends in a digit, has an underscore or is what a later row begins with, or a size has a sign.
    pub(super) fn name(&self) -> (String, bool) {
        let (mut name, mut flags, mut plain) = (self.family().to_owned(), String::new(), true);
        for (at, (parameter, value)) in self.values().enumerate() {
            if !parameter.is_said(&value) || matches!(value, Value::Unused | Value::Flag(false)) {
                continue;
            }
            plain &= parameter.names(&value).iter().all(|name| self.is_plain(name, at));
            let part = format!("_{}{}", parameter.tag, value.part());
            if parameter.kind == Kind::Flag { &mut flags } else { &mut name }.push_str(&part);
        }
        name += &flags;
        plain &= name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
        (name, plain)
    }

    /// Whether a name of a row can be told from what the rows behind it begin with: a tag with a number if the name has one, else one
    /// without.
    fn is_plain(&self, name: &str, row: usize) -> bool {
        let numbered = matches!(self.parameters()[row].kind, Kind::Sizes(..) | Kind::Stages);
        let begins = |(at, parameter): (usize, &Parameter)| match parameter.kind {
            Kind::WordOrNone(words) => words.iter().any(|word| word.starts_with(name)),
            Kind::Flag => !numbered && parameter.tag == name,
            Kind::Size(_) | Kind::Pair | Kind::Lanes => numbered && at > row && parameter.tag == name,
            _ => !numbered && at > row && parameter.tag == name,
        };
        let letters = !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphabetic());
        letters && !self.parameters().iter().enumerate().any(begins)
    }
}

impl Value {
    /// What a name of a configuration has of it, behind the row's tag.
    fn part(&self) -> String {
        match self {
            Value::None | Value::Unused | Value::Flag(_) => String::new(),
            Value::Size(size) => size.to_string(),
            Value::Pair([first, second]) => format!("{first}x{second}"),
            Value::Word(word) => word.clone(),
            Value::Sizes(sizes) => sizes.iter().map(|(name, size)| format!("_{name}{size}")).collect(),
            Value::Names(names) => names.iter().map(|name| format!("_{name}")).collect(),
            Value::Stages(stages) => stages.iter().map(|(name, stage)| format!("_{name}{}", stage.suffix())).collect(),
        }
    }
}

impl Stage {
    /// `4p1r`: vectors of 4, rows padded by 1, reductions outside; `8x8`: rows swizzled by 8. It begins with a digit, where a name of letters ends.
    fn suffix(self) -> String {
        let pad = if self.pad == 0 { String::new() } else { format!("p{}", self.pad) };
        let swizzle = if self.swizzle == 0 { String::new() } else { format!("x{}", self.swizzle) };
        format!("{}{pad}{swizzle}{}", self.vector, if self.reduce_outside { "r" } else { "" })
    }
}

/// A family from the values of its rows; none: they are of other kinds.
pub(super) trait FromValues: Sized {
    /// The rows.
    const PARAMETERS: &'static [Parameter];

    /// The family with these values.
    fn of(values: Vec<Value>) -> Option<Self>;

    /// The family with nothing said.
    fn least() -> Self {
        let least = Self::PARAMETERS.iter().map(|parameter| parameter.kind.least()).collect();
        Self::of(least).expect("the kinds are those of the fields")
    }
}

/// The type of a field.
pub(super) trait Field: Sized {
    fn to_value(&self) -> Value;
    fn of_value(value: Value) -> Option<Self>;
}

/// `field!(Type: Variant)`: a type that a value has as it is.
macro_rules! field {
    ($($Type:ty: $Variant:ident),*) => {$(
        impl Field for $Type {
            fn to_value(&self) -> Value {
                Value::$Variant(self.clone())
            }

            fn of_value(value: Value) -> Option<Self> {
                if let Value::$Variant(value) = value { Some(value) } else { None }
            }
        }
    )*};
}

field!(bool: Flag, i64: Size, String: Word, BTreeMap<String, i64>: Sizes, Vec<String>: Names, BTreeMap<String, Stage>: Stages);

impl<T: Field> Field for Option<T> {
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::None, Field::to_value)
    }

    fn of_value(value: Value) -> Option<Self> {
        if value == Value::None { Some(None) } else { T::of_value(value).map(Some) }
    }
}

/// `word!(Type: Variant = "word", …)`: a type whose values are words; `WORDS` are all of them.
macro_rules! word {
    ($Type:ident: $($Variant:ident = $word:literal),*) => {
        impl $Type {
            /// As a config writes them.
            pub(super) const WORDS: &'static [&'static str] = &[$($word),*];
        }

        impl $crate::sketch::template::parameter::Field for $Type {
            fn to_value(&self) -> $crate::sketch::template::Value {
                let word = match self { $($Type::$Variant => $word),* };
                $crate::sketch::template::Value::Word(word.to_owned())
            }

            fn of_value(value: $crate::sketch::template::Value) -> Option<Self> {
                match value {
                    $($crate::sketch::template::Value::Word(word) if word == $word => Some($Type::$Variant),)*
                    _ => None,
                }
            }
        }
    };
}

/// A family: its rows, each with the fields that hold its value, and its conditions, each from one expression over the fields,
/// which is both Rust and C. A condition with `if` is one of some configurations only.
macro_rules! template {
    (
        $(#[$meta:meta])*
        $Family:ident = $name:literal {
            $($row:expr => { $($(#[$field_meta:meta])* $field:ident: $Type:ty),* $(,)? })*
        }
        $($condition:ident: $test:expr, $why:literal $(, if $applies:expr)?;)*
    ) => {
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        $(#[$meta])*
        pub struct $Family {
            $($($(#[$field_meta])* pub $field: $Type,)*)*
        }

        impl $crate::sketch::template::parameter::FromValues for $Family {
            const PARAMETERS: &'static [$crate::sketch::template::Parameter] = &[$($row),*];

            fn of(values: Vec<$crate::sketch::template::Value>) -> Option<Self> {
                let mut fields = values.into_iter().flat_map($crate::sketch::template::Value::fields);
                Some($Family {
                    $($($field: $crate::sketch::template::parameter::Field::of_value(fields.next()?)?,)*)*
                })
            }
        }

        impl $crate::sketch::template::parameter::Table for $Family {
            fn family(&self) -> &'static str {
                $name
            }

            fn parameters(&self) -> &'static [$crate::sketch::template::Parameter] {
                <$Family as $crate::sketch::template::parameter::FromValues>::PARAMETERS
            }

            fn rows(&self) -> Vec<Vec<(&'static str, $crate::sketch::template::Value)>> {
                use $crate::sketch::template::parameter::Field;
                vec![$(vec![$((stringify!($field), self.$field.to_value())),*]),*]
            }

            #[allow(unused_variables, unused_mut, reason = "a condition is over some of the fields, and there may be none")]
            fn conditions(&self) -> Vec<$crate::sketch::template::Condition> {
                let $Family { $($($field,)*)* } = self.clone();
                let in_range = (self as &dyn $crate::sketch::template::parameter::Table).in_range();
                let mut conditions = Vec::new();
                $(if true $(&& $applies)? {
                    conditions.push($crate::sketch::template::Condition {
                        name: stringify!($condition),
                        text: stringify!($test),
                        why: $why,
                        holds: in_range && $test,
                    });
                })*
                conditions
            }
        }

        impl serde::Serialize for $Family {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map((self as &dyn $crate::sketch::template::parameter::Table).fields())
            }
        }
    };
}

pub(super) use {template, word};
