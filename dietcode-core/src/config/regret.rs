//! `regret`: how far what is dispatched may stay behind the best.

use serde::{Deserialize, Serialize};

use super::reader::Node;
use crate::Result;

/// The largest that may be asked for.
const MOST: f64 = 100.0;

/// Bounds of the time of what is dispatched over that of the best, over the range; of the two, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegretBudget {
    /// Of the weighted mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Of each shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<f64>,
}

impl RegretBudget {
    /// Whether such regrets are within it.
    pub fn admits(&self, mean: f64, worst: f64) -> bool {
        self.mean.is_none_or(|bound| mean <= bound) && self.worst.is_none_or(|bound| worst <= bound)
    }

    pub(super) fn read(node: &Node<'_>) -> Result<RegretBudget> {
        let object = node.object(&["mean", "worst"])?;
        let expected = format!("a number greater than 1, at most {MOST}: a ratio of times");
        let read = |key| object.get(key).map(|node| node.number(&expected, |n| n > 1.0 && n <= MOST)).transpose();
        match (read("mean")?, read("worst")?) {
            (None, None) => {
                Err(node.fail("no bound", "`mean`, `worst` or both, such as {\"mean\": 1.02, \"worst\": 1.1}"))
            }
            (mean, worst) => Ok(RegretBudget { mean, worst }),
        }
    }
}
