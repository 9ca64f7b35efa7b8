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
}

impl Schedule {
    /// Declares a parameter, which factors of splits may name. What is staged is as large as it says: so the scratch memory of a
    /// micro-kernel depends on it, and nothing else that is known before a call.
    ///
    /// # Errors
    /// A name that is taken, a value that is not from 1 to 2³¹, too many parameters.
    pub fn parameter(&mut self, name: &str, value: i64) -> Result<()> {
        let parameter = Parameter { name: name.into(), value };
        legality::parameter(self, &parameter)?;
        self.record(Instruction::Parameter { into: parameter.name.clone(), value: value.into() });
        self.program.shape_vars.push(parameter.name.clone());
        self.parameters.push(parameter);
        Ok(())
    }

    /// What a size is that names nothing but parameters; the largest number where it is more.
    pub(crate) fn value(&self, size: &Expr) -> i64 {
        let value = |e: Expr, parameter: &Parameter| e.substitute(&parameter.name, &Expr::Int(parameter.value));
        self.parameters.iter().fold(size.clone(), value).as_int().unwrap_or(i64::MAX)
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
