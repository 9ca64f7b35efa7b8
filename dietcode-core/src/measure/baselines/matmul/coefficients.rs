//! What a product is multiplied with, and what it is added to: the factors α and β of BLAS.

use dietcode_syntax::{BinaryOp, CompareOp, Condition, Expr, KernelDef, Reduction};

use super::Coefficient;

/// α and β of a nest that sums products; none if it does anything else with the sum.
pub(super) fn of(def: &KernelDef, reduction: &Reduction) -> Option<[Coefficient; 2]> {
    let own = |e: &Expr| matches!(e, Expr::Load { param, index } if *param == def.output && *index == def.output_index);
    let [alpha, beta] = match &def.epilogue {
        Expr::Select { op: CompareOp::Eq, lhs, rhs, then, otherwise } if is_zero(rhs) => {
            let beta = scalar(lhs)?;
            let Expr::Binary(BinaryOp::Add, product, before) = &**otherwise else { return None };
            let scaled = |a: &Expr, b: &Expr| scalar(a) == Some(beta) && own(b);
            let same = product == then
                && matches!(&**before, Expr::Binary(BinaryOp::Mul, a, b) if scaled(a, b) || scaled(b, a));
            [factor(then)?, if same { beta } else { return None }]
        }
        product => [factor(product)?, Coefficient::Zero],
    };
    let is_summed = |condition: &Condition| {
        condition.op == CompareOp::Ne && scalar(&condition.lhs) == Some(alpha) && is_zero(&condition.rhs)
    };
    if !reduction.condition.as_ref().is_none_or(is_summed) {
        return None;
    }
    match &reduction.init {
        zero if is_zero(zero) => Some([alpha, beta]),
        init if own(init) && [alpha, beta] == [Coefficient::One, Coefficient::Zero] => {
            Some([Coefficient::One, Coefficient::One])
        }
        _ => None,
    }
}

/// What the sum is multiplied with.
fn factor(product: &Expr) -> Option<Coefficient> {
    match product {
        Expr::Acc => Some(Coefficient::One),
        Expr::Binary(BinaryOp::Mul, a, b) if **b == Expr::Acc => scalar(a),
        Expr::Binary(BinaryOp::Mul, a, b) if **a == Expr::Acc => scalar(b),
        _ => None,
    }
}

fn scalar(e: &Expr) -> Option<Coefficient> {
    match e {
        Expr::Load { param, index } if index.is_empty() => Some(Coefficient::Param(*param)),
        _ => None,
    }
}

fn is_zero(e: &Expr) -> bool {
    matches!(e, Expr::Literal(zero) if *zero == 0.0)
}
