//! Workload instances as the command line writes them, `--wkl`.
//!
//! ```text
//! shapes = item (',' item)*
//! item   = variable '=' values | values          values without a name are more of the variable before them
//! values = number | number '..' number (':' step)?          both ends are included
//! ```
//!
//! `B=2,T=5,24,40..43:3` stands for four instances. A range without a step stands for few of its values where it is to make
//! instances, and for all of them where it is to pick among instances that there are.

use std::fmt;
use std::str::FromStr;

use super::{MAX_EXTENT, WklInst, is_identifier};
use crate::{Error, Result};

/// Some instances: variables in the order of the text, each with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shapes {
    text: String,
    vars: Vec<(String, Vec<Values>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Values {
    first: i64,
    last: i64,
    /// None: the code that makes instances chooses.
    step: Option<i64>,
}

/// So many instances ranges without a step make together, about.
const FEW: f64 = 32.0;

/// So many values a range without a step has, at most.
const MOST_VALUES: usize = 7;

/// The most instances of one text.
const MOST: usize = 1000;

impl Shapes {
    /// The variables, in the order of the text.
    pub fn vars(&self) -> impl Iterator<Item = &str> {
        self.vars.iter().map(|(name, _)| name.as_str())
    }

    /// Whether an instance is meant: each variable that is named has one of its values. Any of a range between its ends is one.
    pub fn contains(&self, wkl: &WklInst) -> bool {
        let has = |(name, all): &(String, Vec<Values>)| {
            wkl.get(name).is_some_and(|value| all.iter().any(|values| values.contains(*value)))
        };
        self.vars.iter().all(has)
    }

    /// The instances, in the order of the text: all combinations of the values. A range without a step has both ends and, in
    /// about equal ratios, up to five values between them, odd ones, since programs call with such; fewer if there are several.
    ///
    /// # Errors
    /// If there are more than a thousand.
    pub fn instances(&self) -> Result<Vec<WklInst>> {
        let open = self.vars.iter().flat_map(|(_, all)| all).filter(|values| values.is_open()).count();
        let few = (FEW.powf(1.0 / open.max(1) as f64) as usize).clamp(2, MOST_VALUES);
        let mut instances = vec![WklInst::new()];
        for (name, all) in &self.vars {
            let mut taken: Vec<i64> = Vec::new();
            for value in all.iter().flat_map(|values| values.taken(few)) {
                if !taken.contains(&value) {
                    taken.push(value);
                }
            }
            if instances.len().saturating_mul(taken.len()) > MOST {
                return Err(Error::input(format!("found more than {MOST} shapes in `{self}`, expected fewer values")));
            }
            let with = |wkl: &WklInst, value| wkl.clone().into_iter().chain([(name.clone(), value)]).collect();
            instances = instances.iter().flat_map(|wkl| taken.iter().map(move |value| with(wkl, *value))).collect();
        }
        Ok(instances)
    }
}

impl Values {
    fn is_open(self) -> bool {
        self.step.is_none() && self.first < self.last
    }

    fn contains(self, value: i64) -> bool {
        (self.first..=self.last).contains(&value) && (value - self.first) % self.step.unwrap_or(1) == 0
    }

    /// Those that stand for all, of a range without a step at most `few`. One more than [`MOST`] is as good as all of them.
    fn taken(self, few: usize) -> Vec<i64> {
        let Values { first, last, step } = self;
        let fits = usize::try_from(last - first).is_ok_and(|between| between < few);
        if let Some(step) = step.or(fits.then_some(1)) {
            return (first..=last).step_by(usize::try_from(step).unwrap_or(1)).take(MOST + 1).collect();
        }
        let (least, parts) = (first.max(1) as f64, (few - 1) as f64);
        let between = (1..few - 1).map(|n| least * (last as f64 / least).powf(n as f64 / parts));
        let between = between.map(|value| (value.round() as i64 | 1).clamp(first, last));
        let mut values: Vec<i64> = std::iter::once(first).chain(between).chain([last]).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    fn parse(text: &str) -> Option<Values> {
        let number = |text: &str| text.trim().parse().ok().filter(|value| (0..=MAX_EXTENT).contains(value));
        let Some((first, rest)) = text.split_once("..") else {
            return number(text).map(|value| Values { first: value, last: value, step: None });
        };
        let (last, step) = match rest.split_once(':') {
            Some((last, step)) => (last, Some(number(step).filter(|step| *step > 0)?)),
            None => (rest, None),
        };
        let (first, last) = (number(first)?, number(last)?);
        (first <= last).then_some(Values { first, last, step })
    }
}

impl FromStr for Shapes {
    type Err = Error;

    /// # Errors
    /// If it is not as the module says, or a name comes twice.
    fn from_str(text: &str) -> Result<Shapes> {
        let mut vars: Vec<(String, Vec<Values>)> = Vec::new();
        for part in text.split(',').filter(|_| !text.trim().is_empty()) {
            let wrong = || {
                let expected = format!(
                    "`name=number` with a number from 0 to {MAX_EXTENT}, such as `T=37`, or `T=16..128`, both ends \
                     included, or `T=16..128:16`"
                );
                Error::input(format!("found `{}`, expected {expected}", part.trim().escape_debug()))
            };
            let (name, values) =
                part.split_once('=').map_or((None, part), |(name, values)| (Some(name.trim()), values));
            let values = Values::parse(values).ok_or_else(wrong)?;
            match (name, vars.last_mut()) {
                (None, Some((_, all))) => all.push(values),
                (Some(name), _) if is_identifier(name) => {
                    if vars.iter().any(|(known, _)| known == name) {
                        return Err(Error::input(format!("found `{name}` a second time in `{}`", text.escape_debug())));
                    }
                    vars.push((name.to_owned(), vec![values]));
                }
                _ => return Err(wrong()),
            }
        }
        Ok(Shapes { text: text.trim().to_owned(), vars })
    }
}

/// As it was written.
impl fmt::Display for Shapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
