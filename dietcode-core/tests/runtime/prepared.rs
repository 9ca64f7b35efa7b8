//! Operands that are laid out before calls.

use dietcode_core::runtime::{Arg, DType, Kernel, Param, Prepared, PreparedLayout, Signature, Tensor};
use dietcode_core::{Error, ErrorKind};

use crate::fake::{DENSE, GOOD};

const LAYOUT: &[PreparedLayout<'static>] = &[PreparedLayout { param: 1, dim: 0, outer: &[], inner: &[1], panel: 16 }];
const SIGNATURE: Signature = Signature { source_hash: 1, prepared: LAYOUT, ..DENSE };

fn call(signature: Signature, w: Arg<'_>) -> Result<(), Error> {
    let x = Tensor::<f32>::zeros(&[2, 3]).unwrap();
    let mut y = Tensor::<f32>::zeros(&[2, 5]).unwrap();
    let kernel = Kernel { signature, ..GOOD };
    kernel.call(&mut [x.view().into(), w, y.view_mut().into()])
}

fn refusal(signature: Signature, w: Arg<'_>) -> String {
    let error = call(signature, w).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input, "{error}");
    error.to_string()
}

#[test]
fn only_what_was_laid_out_for_a_parameter_is_taken() {
    let w = Tensor::from_fn(&[5, 3], |at| at as f32).unwrap();
    let prepared = Prepared::new(&SIGNATURE, 1, w.view()).unwrap();
    assert_eq!((prepared.shape(), prepared.bytes()), (&[5, 3][..], 16 * 3 * 4));

    let plain = refusal(SIGNATURE, w.view().into());
    assert!(plain.contains("`w` must be prepared: pass what `dense::prepare_w` makes of it"), "{plain}");
    let unasked = refusal(DENSE, (&prepared).into());
    assert!(unasked.contains("`w` is taken as a tensor, but was laid out for a kernel that lists it"), "{unasked}");
    let other = refusal(Signature { source_hash: 2, ..SIGNATURE }, (&prepared).into());
    assert!(other.contains("`w` was laid out for another parameter, or for another version of the nest"), "{other}");
}

#[test]
fn an_operand_of_a_nest_that_computes_in_f64_holds_f64() {
    const fn of(dtype: DType, param: usize) -> Param {
        Param { dtype, ..DENSE.params[param] }
    }
    const WIDE: Signature =
        Signature { params: &[of(DType::F32, 0), of(DType::F32, 1), of(DType::F64, 2)], ..SIGNATURE };
    let w = Tensor::from_fn(&[5, 3], |at| at as f32).unwrap();
    assert_eq!(Prepared::new(&WIDE, 1, w.view()).unwrap().bytes(), 16 * 3 * 8);
}

#[test]
fn its_extents_are_checked_like_those_of_a_tensor() {
    let w = Tensor::<f32>::zeros(&[4, 3]).unwrap();
    let shorter = refusal(SIGNATURE, (&Prepared::new(&SIGNATURE, 1, w.view()).unwrap()).into());
    assert!(shorter.contains("dimension 1 of `y` is 5, but must be N = 4"), "{shorter}");

    let flat = Tensor::<f32>::zeros(&[15]).unwrap();
    let error = Prepared::new(&SIGNATURE, 1, flat.view()).unwrap_err().to_string();
    assert!(error.contains("dense: `w` must have 2 dimensions, but has 1 (shape [15])"), "{error}");
    let error = Prepared::new(&SIGNATURE, 0, w.view()).unwrap_err().to_string();
    assert!(error.contains("dense: parameter 0 is not listed as prepared"), "{error}");
}
