//! The primitive `parameter`.

use super::{Instruction, Relation, Schedule, legality};
use crate::Result;
use crate::ir::{Expr, Name};

/// A size that compiled code takes when it is called, so that another value needs no other code.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// What it is called; the code has it behind the shape variables.
    pub name: Name,
    /// Its value, from 1 on, which stands in the micro-kernel's row.
    pub value: i64,
    /// The largest value that the code can be called with: what it stages has room for that.
    pub most: i64,
}

impl Schedule {
    /// Declares a parameter, which factors of splits may name.
    ///
    /// # Errors
    /// A name that is taken, a value that is not from 1 to the bound, a bound beyond 2³¹, too many parameters.
    pub fn parameter(&mut self, name: &str, value: i64, most: i64) -> Result<()> {
        let parameter = Parameter { name: name.into(), value, most };
        legality::parameter(self, &parameter)?;
        self.record(Instruction::Parameter { into: parameter.name.clone(), value: value.into(), most });
        self.program.shape_vars.push(parameter.name.clone());
        self.parameters.push(parameter);
        Ok(())
    }

    /// The most that a factor of a split can be.
    pub(crate) fn largest(&self, factor: &Expr) -> i64 {
        let most = |parameter: &Parameter| Expr::Int(parameter.most);
        let largest = |e: Expr, parameter: &Parameter| e.substitute(&parameter.name, &most(parameter));
        self.parameters.iter().fold(factor.clone(), largest).as_int().unwrap_or(i64::MAX)
    }

    /// Whether a loop is a part of one whose steps are as long as a parameter says.
    pub(crate) fn steps_at_run_time(&self, name: &Name) -> bool {
        self.relations.iter().any(|relation| {
            let steps = |outer: &Name| self.in_loops(&Expr::Var(outer.clone())).uses(name);
            matches!(relation, Relation::Split { outer, start: Some(_), .. } if steps(outer))
        })
    }

    /// The value of a variable of the shape, or of a parameter, at a shape.
    pub(crate) fn value_at(&self, shape: &[i64], var: &str) -> Option<i64> {
        let parameter = self.parameters.iter().find(|parameter| *parameter.name == *var);
        parameter.map(|parameter| parameter.value).or_else(|| self.program.value_at(shape, var))
    }
}
