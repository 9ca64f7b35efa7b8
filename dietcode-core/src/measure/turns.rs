//! Turns: who is timed when.
//!
//! ```text
//! round 0   a b c        round 1   c b a        round 2   a b c …
//! ```
//!
//! Whatever drifts, drifts under all of them; and since the order turns round each time, any two have the same mean moment in two
//! rounds, see [`paired`](crate::paired).

/// Takes samples of so many, by turns, of each as long as `goes_on` says so of the samples that it has. Who has none when it is asked
/// for one is not asked again: it has fewer than the others.
///
/// # Errors
/// Those of `sample`.
pub(super) fn by_turns<E>(
    count: usize,
    goes_on: impl Fn(usize, &[f64]) -> bool,
    mut sample: impl FnMut(usize) -> Result<Option<f64>, E>,
) -> Result<Vec<Vec<f64>>, E> {
    let mut all = vec![Vec::new(); count];
    let mut asked: Vec<usize> = (0..count).collect();
    while !asked.is_empty() {
        let mut left = Vec::new();
        for at in asked {
            if goes_on(at, &all[at])
                && let Some(seconds) = sample(at)?
            {
                all[at].push(seconds);
                left.push(at);
            }
        }
        left.reverse();
        asked = left;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_go_back_and_forth_without_those_that_have_no_sample() {
        let mut order = Vec::new();
        let taken = by_turns(
            3,
            |_, samples| samples.len() < 4,
            |at| {
                order.push(at);
                Ok::<_, ()>((order.len() != 5).then_some(order.len() as f64))
            },
        );
        assert_eq!(order, [0, 1, 2, 2, 1, 0, 0, 2, 2, 0]);
        assert_eq!(taken.unwrap(), [vec![1.0, 6.0, 7.0, 10.0], vec![2.0], vec![3.0, 4.0, 8.0, 9.0]]);
        assert_eq!(by_turns(0, |_, _| true, |_| Err(())), Ok(Vec::new()));
    }

    #[test]
    fn who_has_enough_does_not_wait_for_those_that_have_not() {
        let mut asked = [0; 2];
        let enough = [3, 1];
        let taken = by_turns(
            2,
            |at, samples| samples.len() < enough[at],
            |at| {
                asked[at] += 1;
                Ok::<_, ()>(Some(1.0))
            },
        );
        assert_eq!((asked, [0, 1].map(|at| taken.as_ref().unwrap()[at].len())), (enough, enough));
    }
}
