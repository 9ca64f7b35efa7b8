//! Views of ndarray's arrays.

use dietcode_core::runtime::{Arg, DType, TensorMut, TensorRef};
use ndarray::{Array, Array2, s};

#[test]
fn row_major_views_are_borrowed() {
    let mut x = Array2::from_shape_fn((4, 6), |(i, j)| (10 * i + j) as f32);
    let whole = TensorRef::try_from(x.view()).unwrap();
    assert_eq!((whole.strides(), whole[[2, 3]]), (&[6, 1][..], 23.0));
    let rows = TensorRef::try_from(x.slice(s![..;2, 1..3])).unwrap();
    assert_eq!((rows.shape(), rows.strides(), rows[[1, 1]]), (&[2, 2][..], &[12, 1][..], 22.0));
    TensorMut::try_from(x.slice_mut(s![1.., ..])).unwrap()[[0, 0]] = -1.0;
    assert_eq!(x[[1, 0]], -1.0);
    let x = Array2::from_shape_fn((4, 6), |(i, j)| 0.1 * (10 * i + j) as f64);
    let arg = Arg::from(TensorRef::try_from(x.slice(s![1.., ..])).unwrap());
    assert_eq!((arg.dtype(), TensorRef::<f64>::try_from(arg).unwrap()[[1, 3]]), (DType::F64, 0.1 * 23.0));
}

#[test]
fn other_orders_are_errors() {
    let x = Array2::<f32>::zeros((4, 6));
    let message = TensorRef::try_from(x.t()).unwrap_err().to_string();
    assert!(message.contains("the array of shape [6, 4] has strides [1, 6]"), "{message}");
    assert!(TensorRef::try_from(x.slice(s![.., ..;2])).is_err());
    assert!(TensorRef::try_from(x.slice(s![..;-1, ..])).is_err());
    assert!(TensorRef::try_from(x.broadcast((3, 4, 6)).unwrap()).is_err());
}

#[test]
fn extents_of_one_and_zero_have_any_stride() {
    let x = Array::<f32, _>::zeros((5, 6, 7));
    assert_eq!(TensorRef::try_from(x.slice(s![2..3, .., ..])).unwrap().shape(), [1, 6, 7]);
    assert_eq!(TensorRef::try_from(x.slice(s![.., 2..3, 3..4])).unwrap().shape(), [5, 1, 1]);
    assert_eq!(TensorRef::try_from(x.slice(s![.., 0..0, ..])).unwrap().shape(), [5, 0, 7]);
    assert_eq!(TensorRef::try_from(x.broadcast((1, 5, 6, 7)).unwrap()).unwrap().shape(), [1, 5, 6, 7]);
}
