//! Numbers in instructions: constants, sampled variables, parameters, and their products.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::ops::Mul;

use serde::{Deserialize, Serialize};

use crate::ir::{Expr, Name};

/// A product of constants and variables; the empty one is 1. In JSON: a part, or an array of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Parts", into = "Parts")]
pub struct Size(pub Vec<Part>);

/// A factor of a [`Size`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Part {
    /// A constant.
    Int(i64),
    /// A sampled variable, or a parameter.
    Var(Name),
}

impl Size {
    /// A constant.
    pub fn int(value: i64) -> Size {
        Size(vec![Part::Int(value)])
    }

    /// The product of sampled variables.
    pub fn product<N: AsRef<str>>(vars: impl IntoIterator<Item = N>) -> Size {
        Size(vars.into_iter().map(|var| Part::Var(var.as_ref().into())).collect())
    }

    /// Its value.
    ///
    /// # Errors
    /// The variable that has none, or that the product is beyond 2⁶³.
    pub fn value(&self, decisions: &BTreeMap<Name, i64>) -> Result<i64, String> {
        self.0.iter().try_fold(1i64, |product, part| {
            let factor = match part {
                Part::Int(value) => *value,
                Part::Var(var) => *decisions.get(var).ok_or_else(|| format!("`{var}` is open"))?,
            };
            product.checked_mul(factor).ok_or_else(|| format!("`{self}` is beyond 2^63"))
        })
    }
}

impl Size {
    /// Its value as an expression of parameters: all other parts are constants.
    ///
    /// # Errors
    /// A part that is neither.
    pub(crate) fn expression(&self, is_parameter: impl Fn(&Name) -> bool) -> Result<Expr, String> {
        self.0.iter().try_fold(Expr::Int(1), |product, part| match part {
            Part::Int(value) if product.as_int().is_some_and(|known| known.checked_mul(*value).is_none()) => {
                Err(format!("{self} is beyond 2^63"))
            }
            Part::Int(value) => Ok(product.mul(Expr::Int(*value))),
            Part::Var(var) if is_parameter(var) => Ok(product.mul(Expr::Var(var.clone()))),
            Part::Var(var) => Err(format!("`{var}` is open")),
        })
    }

    /// The same size with the values of decisions in their places.
    pub(crate) fn decided(&self, decisions: &BTreeMap<Name, i64>) -> Size {
        if let Ok(value) = self.value(decisions) {
            return Size::int(value);
        }
        let part = |part: &Part| match part {
            Part::Var(name) => decisions.get(name).map_or_else(|| part.clone(), |value| Part::Int(*value)),
            Part::Int(_) => part.clone(),
        };
        Size(self.0.iter().map(part).collect())
    }
}

impl From<i64> for Part {
    fn from(value: i64) -> Part {
        Part::Int(value)
    }
}

impl From<&str> for Part {
    fn from(var: &str) -> Part {
        Part::Var(var.into())
    }
}

impl From<i64> for Size {
    fn from(value: i64) -> Size {
        Size::int(value)
    }
}

impl Display for Size {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("1");
        }
        for (n, part) in self.0.iter().enumerate() {
            let dot = if n > 0 { "·" } else { "" };
            match part {
                Part::Int(value) => write!(f, "{dot}{value}")?,
                Part::Var(var) => write!(f, "{dot}{var}")?,
            }
        }
        Ok(())
    }
}

/// A [`Size`] in JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Parts {
    One(Part),
    Many(Vec<Part>),
}

impl From<Parts> for Size {
    fn from(parts: Parts) -> Size {
        match parts {
            Parts::One(part) => Size(vec![part]),
            Parts::Many(parts) => Size(parts),
        }
    }
}

impl From<Size> for Parts {
    fn from(mut size: Size) -> Parts {
        match size.0.len() {
            1 => Parts::One(size.0.remove(0)),
            _ => Parts::Many(size.0),
        }
    }
}
