//! Each nest against loops as they are meant, by its micro-kernel and by its reference.

mod ops;

use dietcode_core::runtime::{TensorMut, TensorRef};

fn view<'a>(data: &'a [f32], shape: &[usize]) -> TensorRef<'a, f32> {
    TensorRef::new(data, shape).unwrap()
}

fn view_mut<'a>(data: &'a mut [f32], shape: &[usize]) -> TensorMut<'a, f32> {
    TensorMut::new(data, shape).unwrap()
}

/// Numbers that are exact in sums of a few hundred.
fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i * 7919 % 61) as f32 - 30.0).collect()
}

fn close(found: &[f32], expected: &[f32], what: &str) {
    let same = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-5 * (1.0 + b.abs()));
    assert!(same && found.len() == expected.len(), "{what}: {found:?}, expected {expected:?}");
}

/// Runs a kernel and its reference on fresh copies of the output.
macro_rules! both {
    ($kernel:ident($($arg:expr),*), $before:expr, $shape:expr, $expected:expr) => {{
        let before: Vec<f32> = $before;
        let mut y = before.clone();
        ops::$kernel($($arg,)* view_mut(&mut y, &$shape)).unwrap();
        close(&y, &$expected, stringify!($kernel));
        let mut y = before;
        ops::$kernel::reference($($arg,)* view_mut(&mut y, &$shape)).unwrap();
        close(&y, &$expected, concat!(stringify!($kernel), "::reference"));
    }};
}

fn norms() {
    for m in [0, 1, 7, 33] {
        let (x, w) = (numbers(4 * m), numbers(5));
        let mut expected = vec![0.0; m];
        ops::expected_norms(&x, &w, &mut expected);
        both!(norms(view(&x, &[m, 4]), view(&w, &[5])), vec![f32::NAN; m], [m], expected);
    }
    let (x, w, mut y) = (numbers(10), numbers(5), vec![0.0; 2]);
    let error = ops::norms(view(&x, &[2, 5]), view(&w, &[5]), view_mut(&mut y, &[2])).unwrap_err();
    assert!(error.to_string().contains("dimension 1 of `x` is 5, but must be 4"), "{error}");
}

fn stencil() {
    for (m, n) in [(2, 2), (3, 3), (2, 9), (5, 40), (23, 17)] {
        let x = numbers(m * n);
        let before = numbers(m * n + 1)[1..].to_vec();
        let mut expected = before.clone();
        for i in 1..m - 1 {
            for j in 1..n - 1 {
                expected[i * n + j] = x[(i - 1) * n + j] + x[(i + 1) * n + j] + x[i * n + j - 1] + x[i * n + j + 1] + i as f32;
            }
        }
        both!(stencil(view(&x, &[m, n])), before.clone(), [m, n], expected);
    }
    for m in [0, 1] {
        let (x, mut y) = (numbers(3 * m), numbers(3 * m));
        let error = ops::stencil(view(&x, &[m, 3]), view_mut(&mut y, &[m, 3])).unwrap_err();
        let reference = ops::stencil::reference(view(&x, &[m, 3]), view_mut(&mut y, &[m, 3])).unwrap_err();
        let sentence = format!("the loop over `i` would have M - 2 = {} iterations; there must be 0 or more", m as i64 - 2);
        assert!(error.to_string().contains(&sentence) && reference.to_string().contains(&sentence), "{error}, {reference}");
    }
}

fn tails() {
    for (m, k) in [(1, 2), (1, 3), (6, 2), (19, 31)] {
        let (x, before) = (numbers(m * k), numbers(m + 2));
        let mut expected = before.clone();
        for i in 0..m {
            expected[i + 1] += x[i * k + 2..(i + 1) * k].iter().sum::<f32>();
        }
        both!(tails(view(&x, &[m, k])), before.clone(), [m + 2], expected);
    }
    let (x, mut y) = (numbers(3), numbers(5));
    assert!(ops::tails(view(&x, &[3, 1]), view_mut(&mut y, &[5])).is_err(), "L - 2 is -1");
}

fn below() {
    for (m, n, s) in [(5, 3, 0), (5, 3, 2), (5, 3, 5), (20, 33, 7)] {
        let (x, start, before) = (numbers(m * n), numbers(s), numbers(m * (n + 3)));
        let mut expected = before.clone();
        for i in s..m {
            expected[i * (n + 3) + 3..(i + 1) * (n + 3)].copy_from_slice(&x[i * n..(i + 1) * n]);
        }
        both!(below(view(&x, &[m, n]), view(&start, &[s])), before.clone(), [m, n + 3], expected);
    }
    let (x, start, mut y) = (numbers(4), numbers(5), numbers(16));
    assert!(ops::below(view(&x, &[4, 1]), view(&start, &[5]), view_mut(&mut y, &[4, 4])).is_err(), "M - S is -1");
}

fn triangles() {
    for m in [1, 2, 5, 37] {
        let x = numbers(m * m);
        let sums: Vec<f32> = (0..m).map(|i| x[i * m..i * m + i].iter().sum()).collect();
        both!(lower_sums(view(&x, &[m, m])), vec![f32::NAN; m], [m], sums);
        let before = numbers(m * m + 3)[3..].to_vec();
        let mut expected = before.clone();
        for i in 0..m {
            expected[i * m + i + 1..(i + 1) * m].copy_from_slice(&x[i * m + i + 1..(i + 1) * m]);
        }
        both!(upper(view(&x, &[m, m])), before.clone(), [m, m], expected);
    }
}

fn main() {
    norms();
    stencil();
    tails();
    below();
    triangles();
    let mut y = [0.0; 3];
    ops::in_a_block(&numbers(5), &mut y);
    close(&y, &numbers(3), "a kernel in a block");
    let (x, expected) = ([3.0, 4.0], vec![0.6, 0.8]);
    both!(silent(view(&x, &[1, 2])), vec![f32::NAN; 2], [1, 2], expected);
    both!(warned(view(&x, &[1, 2])), vec![f32::NAN; 2], [1, 2], expected);
    println!("all nests are right");
}
