//! What generators have in common: cartesian products of lists, numbered like nested loops, and lists of such products.

/// How many combinations of one value from each list there are; the largest number if there are more than it.
pub(super) fn count<const LISTS: usize>(lengths: [usize; LISTS]) -> u128 {
    lengths.into_iter().fold(1, |product: u128, len| product.saturating_mul(len as u128))
}

/// The places in the lists of a combination by its number, the last list's changing fastest; `None` from [`count`] on.
pub(super) fn places<const LISTS: usize>(lengths: [usize; LISTS], index: u128) -> Option<[usize; LISTS]> {
    let mut rest = index;
    let mut places = [0; LISTS];
    for (place, len) in places.iter_mut().zip(lengths).rev() {
        *place = (rest % len as u128) as usize;
        rest /= len as u128;
    }
    (rest == 0).then_some(places)
}

/// A set that is given by a rule, and too large to be listed.
pub(super) trait Product {
    /// What it is a set of.
    type Item;

    /// All in order, made one by one.
    fn each(&self) -> impl Iterator<Item = Self::Item> + '_;

    /// How many there are.
    fn size(&self) -> u128;

    /// Whether it is one of these.
    fn has(&self, item: &Self::Item) -> bool;
}

/// The items of all sets, each at its first place only.
pub(super) fn union<'p, P: Product + 'p>(
    products: impl IntoIterator<Item = &'p P>,
) -> impl Iterator<Item = P::Item> + 'p {
    let products: Vec<&P> = products.into_iter().collect();
    (0..products.len()).flat_map(move |at| {
        let earlier = products[..at].to_vec();
        products[at].each().filter(move |item| !earlier.iter().any(|product| product.has(item)))
    })
}

/// How many items all sets have, those counted again that several have in common.
pub(super) fn total<P: Product>(products: &[P]) -> u128 {
    products.iter().fold(0, |sum: u128, product| sum.saturating_add(product.size()))
}
