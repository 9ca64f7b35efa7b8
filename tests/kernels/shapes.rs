//! The shapes at which kernels are tried, as values of their shape variables.

/// Around the sizes that tiles have, and primes.
const EXTENTS: &[usize] = &[1, 2, 3, 5, 6, 7, 8, 9, 13, 15, 16, 17, 31, 32, 33, 47, 48, 49, 61, 63, 64, 65, 97];

/// A few elements more than this would take a nest in a debug build too long.
const LARGEST: usize = 150_000;

/// All shape variables alike, and each out of step with the others.
pub(crate) fn ragged(vars: usize) -> Vec<Vec<usize>> {
    let alike = EXTENTS.iter().map(|&extent| all(vars, extent));
    // Steps without a common divisor with the number of extents, so that every pair of extents comes together once.
    let staggered =
        (0..2 * EXTENTS.len()).map(|shift| (0..vars).map(|var| extent(shift * (2 * var + 1) + 5 * var)).collect());
    alike.chain(staggered).map(shrunk).collect()
}

/// Each shape variable in turn much larger than the others.
pub(crate) fn far(vars: usize) -> Vec<Vec<usize>> {
    let one_large = |at: usize| (0..vars).map(|var| if var == at { 3001 } else { 1 + 2 * (var % 2) }).collect();
    (0..vars).map(one_large).map(shrunk).collect()
}

/// All extents the same, as far as the work stays small.
pub(crate) fn all(vars: usize, extent: usize) -> Vec<usize> {
    shrunk(vec![extent; vars])
}

/// One long extent, the others small.
pub(crate) fn long(vars: usize) -> Vec<usize> {
    let mut dims = vec![7; vars];
    dims[0] = 211;
    shrunk(dims)
}

fn extent(at: usize) -> usize {
    EXTENTS[at % EXTENTS.len()]
}

/// Takes extents down, the largest first, until the work fits.
fn shrunk(mut dims: Vec<usize>) -> Vec<usize> {
    while dims.iter().product::<usize>() > LARGEST {
        let largest = dims.iter_mut().max().expect("there is at least one shape variable");
        *largest = *largest * 2 / 3;
    }
    dims
}
