//! How long threads take for the tiles of a phase, as the runtime shares them out (`runtime/launch.rs`): each begins with neighbouring
//! tiles, as many as the others have, and then takes what is left of theirs. Tiles of a cover's main part are followed by those of the rest.
//!
//! ```text
//! main  ████████████████████████            threads that begin with short tiles are done with them first, and
//! main  ████████████████████████            then take long ones of the others
//! rest  ███|██|██|██|████████████
//! ```

/// Tiles that take equally long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiles {
    /// How many.
    pub(super) number: f64,
    /// What all of them take one thread.
    pub(super) seconds: f64,
}

impl Tiles {
    fn each(&self) -> f64 {
        self.seconds / self.number
    }
}

/// Seconds until so many threads have carried out all tiles: of a micro-kernel, or of both parts of a cover.
pub(super) fn seconds(parts: &[Tiles], threads: usize) -> f64 {
    let threads = threads.max(1) as f64;
    match parts {
        [] => 0.0,
        [one] => (one.number / threads).ceil() * one.each(),
        [first, second, ..] if first.each() <= second.each() => together(first, second, threads, true),
        [first, second, ..] => together(second, first, threads, false),
    }
}

/// The same of short tiles and long ones, of which either stand first.
fn together(short: &Tiles, long: &Tiles, threads: f64, short_first: bool) -> f64 {
    let all = (short.seconds + long.seconds) / threads;
    // Threads that begin with short tiles alone, one that may begin with both, and those without: when they come to long ones of others.
    let tiles = short.number + long.number;
    let begin = |thread: f64| (tiles * thread / threads).ceil();
    let (full, own) = match short_first {
        true => {
            let full = (short.number * threads / tiles).floor();
            (full, begin(full))
        }
        false => {
            let full = threads - 1.0 - ((long.number - 1.0) * threads / tiles).floor();
            (full, tiles - begin(threads - full))
        }
    };
    let left = short.number - own;
    let both = if left > 0.0 { 1.0 } else { 0.0 };
    let groups = [(full, own / full), (both, left), (threads - full - both, 0.0)];
    let groups = groups.map(|(threads, tiles)| (threads, tiles * short.each()));
    let groups = || groups.iter().filter(|(threads, _)| *threads > 0.0);
    // How many long tiles threads of a group have carried out at a time, at which one may end.
    let each = long.each();
    let done = |(_, begin): &(f64, f64), at: f64| ((at - begin) / each + 1e-6).floor().max(0.0);
    let next = |at: f64| groups().map(|group| group.1 + (done(group, at) + 1.0) * each).fold(f64::INFINITY, f64::min);
    // No thread waits while there are tiles, so that all end within a tile of each other.
    let mut end = groups().map(|(_, begin)| *begin).fold((all - each).max(0.0), f64::max);
    while groups().map(|group| group.0 * done(group, end)).sum::<f64>() < long.number {
        let later = next(end);
        // Of more tiles than a float counts, one takes no time.
        if later <= end {
            break;
        }
        end = later;
    }
    end.max(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many tiles that take so long each.
    fn tiles(number: f64, each: f64) -> Tiles {
        Tiles { number, seconds: number * each }
    }

    /// What the runtime does, tile by tile: shares of neighbours, the next of its own share for each thread that is free, or else the next
    /// of another one's.
    fn carried_out(parts: [Tiles; 2], threads: usize) -> f64 {
        let [first, second] = parts;
        let all: Vec<f64> =
            [vec![first.each(); first.number as usize], vec![second.each(); second.number as usize]].concat();
        let begin = |thread: usize| (all.len() * thread).div_ceil(threads);
        let mut shares: Vec<(usize, usize)> = (0..threads).map(|thread| (begin(thread), begin(thread + 1))).collect();
        let mut free = vec![0.0_f64; threads];
        loop {
            let (thread, _) = free.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).unwrap();
            let order = (thread..threads).chain(0..thread);
            let Some(share) = order.into_iter().find(|share| shares[*share].0 < shares[*share].1) else { break };
            free[thread] += all[shares[share].0];
            shares[share].0 += 1;
            // Who finds nothing is done.
            if shares.iter().all(|(next, end)| next == end) {
                break;
            }
        }
        free.into_iter().fold(0.0, f64::max)
    }

    #[test]
    fn tiles_of_one_part_are_waves() {
        assert_eq!(seconds(&[tiles(7.0, 2.0)], 3), 6.0);
        assert_eq!(seconds(&[tiles(7.0, 2.0)], 1), 14.0);
        assert_eq!(seconds(&[], 4), 0.0);
    }

    #[test]
    fn threads_share_the_tiles_of_both_parts() {
        // One long tile of three is left when the thread of the short ones is free.
        assert!((seconds(&[tiles(3.0, 1.0), tiles(2.0, 0.25)], 2) - 2.0).abs() < 1e-9);
        // Each part in waves of its own would take two of the first and one of the second.
        assert!((seconds(&[tiles(5.0, 1.0), tiles(3.0, 1.0)], 4) - 2.0).abs() < 1e-9);
        assert!((seconds(&[tiles(5.0, 1.0), tiles(3.0, 0.5)], 1) - 6.5).abs() < 1e-9);
    }

    #[test]
    fn it_is_what_the_runtime_comes_to() {
        let mut errors = Vec::new();
        for threads in 1..=6 {
            for (first, second) in (1..=20).flat_map(|first| (1..=12).map(move |second| (first, second))) {
                for each in [0.1, 0.3, 0.5, 0.8, 1.0, 1.3, 2.5] {
                    let parts = [tiles(f64::from(first), 1.0), tiles(f64::from(second), each)];
                    let (expected, real) = (seconds(&parts, threads), carried_out(parts, threads));
                    assert!((expected - real).abs() < each.max(1.0), "{parts:?} {threads}: {expected} {real}");
                    errors.push((expected / real - 1.0).abs());
                }
            }
        }
        // Each part in waves of its own would be off by 9% in the mean.
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean < 0.02, "{mean}");
    }
}
