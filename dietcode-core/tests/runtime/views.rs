//! What a view accepts, and what it says about the rest.

use dietcode_core::runtime::{Tensor, TensorMut, TensorRef};

fn dense_error(len: usize, shape: &[usize]) -> String {
    TensorRef::new(&vec![0_u8; len], shape).unwrap_err().to_string()
}

fn strided_error(len: usize, shape: &[usize], strides: &[usize]) -> String {
    TensorRef::with_strides(&vec![0_u8; len], shape, strides).unwrap_err().to_string()
}

#[test]
fn elements_are_found() {
    let data: Vec<i32> = (0..24).collect();
    let x = TensorRef::new(&data, &[2, 3, 4]).unwrap();
    assert_eq!((x.shape(), x.strides()), (&[2, 3, 4][..], &[12, 4, 1][..]));
    assert_eq!(x.get([1, 2, 3]), Some(&23));
    assert_eq!(x[[0, 1, 2]], 6);
    assert_eq!(x.get([2, 0, 0]), None);
    assert_eq!(x.get([0, 0, 4]), None);
    assert_eq!(x.get([0, 0]), None);
    let scalar = TensorRef::new(&data[5..6], &[]).unwrap();
    assert_eq!(scalar[[]], 5);
}

#[test]
fn elements_are_written() {
    let mut data = [0; 10];
    let mut y = TensorMut::with_strides(&mut data, &[2, 3], &[5, 1]).unwrap();
    y[[0, 2]] = 1;
    *y.reborrow().get_mut([1, 1]).unwrap() = 2;
    assert_eq!(y.get_mut([2, 0]), None);
    assert_eq!((y[[0, 2]], y.as_ref()[[1, 1]]), (1, 2));
    assert_eq!(data, [0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
}

#[test]
#[should_panic(expected = "index [0, 9] is outside a tensor of shape [2, 3]")]
fn indexing_outside_panics_like_a_slice() {
    let _ = TensorRef::new(&[0; 6], &[2, 3]).unwrap()[[0, 9]];
}

#[test]
fn wrong_lengths_are_errors() {
    assert_eq!(dense_error(5, &[2, 3]), "a tensor of shape [2, 3] has 6 elements, but the slice has 5");
    assert_eq!(dense_error(7, &[2, 3]), "a tensor of shape [2, 3] has 6 elements, but the slice has 7");
    assert_eq!(dense_error(1, &[0, 3]), "a tensor of shape [0, 3] has 0 elements, but the slice has 1");
    assert_eq!(
        strided_error(7, &[2, 3], &[5, 1]),
        "a tensor of shape [2, 3] with strides [5, 1] spans 8 elements, but the slice has 7"
    );
    // The last row need not be followed by what is between the others.
    TensorRef::with_strides(&[0; 8], &[2, 3], &[5, 1]).unwrap();
    TensorRef::with_strides(&[0; 9], &[2, 3], &[5, 1]).unwrap();
}

#[test]
fn overlapping_rows_are_errors() {
    let message = strided_error(100, &[2, 3], &[2, 1]);
    assert!(message.contains("the stride of dimension 0 is 2, but what lies inside it spans 3 elements"), "{message}");
    let zero = strided_error(100, &[2, 3], &[0, 1]);
    assert!(zero.contains("the stride of dimension 0 is 0"), "{zero}");
    TensorRef::with_strides(&[0; 0], &[8, 0], &[0, 1]).unwrap();
    TensorRef::with_strides(&[0; 100], &[2, 2, 3], &[8, 4, 1]).unwrap();
    assert!(strided_error(100, &[2, 2, 3], &[6, 4, 1]).contains("spans 7 elements"));
}

#[test]
fn other_orders_and_ranks_are_errors() {
    assert!(strided_error(100, &[2, 3], &[1, 2]).contains("the stride of the last dimension must be 1, but it is 2"));
    assert!(strided_error(9, &[3], &[1, 1]).contains("has 1 dimensions, but there are 2 strides"));
    assert!(dense_error(1, &[1; 9]).contains("at most 8 dimensions, but this shape has 9"));
}

#[test]
fn sizes_that_overflow_are_errors() {
    for shape in [&[usize::MAX][..], &[usize::MAX, 2], &[1 << 32, 1 << 32], &[0, usize::MAX], &[1 << 63, 0]] {
        assert!(dense_error(0, shape).contains("spans more than"), "{shape:?}");
    }
    assert!(strided_error(9, &[3, 1], &[usize::MAX / 2, 1]).contains("spans more than"));
    assert!(Tensor::<f32>::zeros(&[1 << 40, 1 << 20]).is_err());
}

#[test]
fn owned_tensors_start_on_a_page() {
    let x = Tensor::from_slice(&[1.0, 2.0, 3.0], &[3]).unwrap();
    assert!(x.as_slice().as_ptr().addr().is_multiple_of(4096));
    assert_eq!(x.as_slice(), [1.0, 2.0, 3.0]);
    assert_eq!(Tensor::<f32>::zeros(&[0, 3]).unwrap().as_slice(), [0.0; 0]);
    assert!(Tensor::from_slice(&[1.0], &[2]).is_err());
}

#[test]
fn a_clone_has_elements_of_its_own() {
    let x = Tensor::from_fn(&[2, 3], |at| at as f32).unwrap();
    let mut copy = x.clone();
    assert_eq!((copy.shape(), copy.as_slice()), (x.shape(), x.as_slice()));
    assert!(copy.as_slice().as_ptr().addr().is_multiple_of(4096));
    copy.view_mut()[[1, 2]] = 7.0;
    assert_eq!((x.view()[[1, 2]], copy.view()[[1, 2]]), (5.0, 7.0));
    let nothing = Tensor::<f32>::zeros(&[0, 3]).unwrap();
    assert_eq!((nothing.clone().shape(), nothing.as_slice()), (nothing.shape(), &[][..]));
}
