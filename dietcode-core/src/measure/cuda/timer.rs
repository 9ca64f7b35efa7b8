//! How long launches take.
//!
//! On a device, events stand in the stream before and after a batch of launches: the host's clock plays no part. A batch is
//! long enough that what an event costs does not count. With a cold cache each launch stands between events of its own, so
//! that what empties the cache is outside. On the emulated device it is the host's clock, and the time of an emulator.

use std::time::Instant;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaEvent, CudaSlice, DriverError};

use crate::config::Cache;
use crate::measure::Failure;
use crate::measure::worker::Trouble;
use crate::runtime::cuda::Device;

/// No batch has more launches.
const MOST_LAUNCHES: usize = 2000;

/// A sample takes at least so long: an event is a thousandth of it.
const SAMPLE_SECONDS: f64 = 200e-6;

/// Clocks are looked at over so long, which is longer than the driver takes to change them by a step, or over [`MOST_LAUNCHES`]; they are
/// steady if so many times in succession differ by no more than this share. A device works for so long at the least and at the most.
const WINDOW_SECONDS: f64 = 20e-3;
const ALIKE: usize = 4;
const STEADY: f64 = 0.005;
const WARM_SECONDS: f64 = 0.2;
const MOST_WARM_SECONDS: f64 = 1.0;

/// So many launches make a sample with a cold cache.
const COLD_LAUNCHES: usize = 10;

/// Times launches on one device.
pub(super) struct Timer {
    device: Device,
    /// None on the emulated device.
    events: Option<[CudaEvent; 2]>,
    /// Memory that is written to empty the cache, once that was asked for.
    flush: Option<CudaSlice<u8>>,
    l2_bytes: u64,
}

impl Timer {
    pub(super) fn new(device: &Device, l2_bytes: u64) -> Result<Timer, Trouble> {
        let events = match device.stream() {
            None => None,
            Some(stream) => {
                let event = || stream.context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
                Some([event().map_err(driver)?, event().map_err(driver)?])
            }
        };
        Ok(Timer { device: device.clone(), events, flush: None, l2_bytes })
    }

    /// Launches until the clocks are steady, which the times of windows of launches show, or for [`MOST_WARM_SECONDS`]. The first
    /// launch is in none: it loads code. Nothing of it on the emulated device.
    pub(super) fn warm_up(&self, launch: &mut dyn FnMut() -> Result<(), Trouble>) -> Result<(), Trouble> {
        if self.events.is_none() {
            return Ok(());
        }
        launch()?;
        let one = self.batch(1, launch)?;
        let (launches, least, most) = windows(one);
        settle(least, most, || self.batch(launches, launch)).map(|_| ())
    }

    /// How many launches make a sample; what is returned with it is the time of one. The emulator's times mean nothing: there
    /// one launch is a sample.
    pub(super) fn calibrate(
        &mut self,
        launch: &mut dyn FnMut() -> Result<(), Trouble>,
    ) -> Result<(usize, f64), Trouble> {
        let mut launches = 1;
        // The first launch also warms up.
        launch()?;
        loop {
            let one = self.warm(launches, launch)?;
            let wanted = (SAMPLE_SECONDS / one.max(1e-9)).ceil().clamp(1.0, MOST_LAUNCHES as f64) as usize;
            // A single launch is mostly the cost of starting it: its time is confirmed by a batch.
            match self.events.is_some() {
                false => return Ok((1, one)),
                true if wanted <= 2 * launches => return Ok((wanted, one)),
                true => {}
            }
            launches = wanted.min(8 * launches);
        }
    }

    /// One sample: seconds per launch.
    pub(super) fn sample(
        &mut self,
        launches: usize,
        cache: Cache,
        launch: &mut dyn FnMut() -> Result<(), Trouble>,
    ) -> Result<f64, Trouble> {
        if cache != Cache::Cold || self.events.is_none() {
            return self.warm(launches, launch);
        }
        let mut seconds = 0.0;
        for _ in 0..COLD_LAUNCHES {
            self.empty_cache()?;
            seconds += self.batch(1, launch)?;
        }
        Ok(seconds / COLD_LAUNCHES as f64)
    }

    /// A batch behind a launch that is not timed: while the device carries that out, the host puts the next ones behind it,
    /// so that the batch does not wait for the host when it begins.
    fn warm(&self, launches: usize, launch: &mut dyn FnMut() -> Result<(), Trouble>) -> Result<f64, Trouble> {
        if self.events.is_some() {
            launch()?;
        }
        self.batch(launches, launch)
    }

    fn batch(&self, launches: usize, launch: &mut dyn FnMut() -> Result<(), Trouble>) -> Result<f64, Trouble> {
        let (Some([begin, end]), Some(stream)) = (&self.events, self.device.stream()) else {
            let start = Instant::now();
            (0..launches).try_for_each(|_| launch())?;
            return Ok(start.elapsed().as_secs_f64() / launches as f64);
        };
        begin.record(stream).map_err(driver)?;
        (0..launches).try_for_each(|_| launch())?;
        end.record(stream).map_err(driver)?;
        let milliseconds = begin.elapsed_ms(end).map_err(driver)?;
        Ok(f64::from(milliseconds) / 1e3 / launches as f64)
    }

    /// Writes twice as much as the cache holds.
    fn empty_cache(&mut self) -> Result<(), Trouble> {
        let Some(stream) = self.device.stream() else { return Ok(()) };
        if self.flush.is_none() {
            let bytes = usize::try_from(2 * self.l2_bytes).unwrap_or(0).max(1 << 20);
            self.flush = Some(stream.alloc_zeros(bytes).map_err(driver)?);
        }
        let memory = self.flush.as_mut().expect("it was just made");
        stream.memset_zeros(memory).map_err(driver)
    }
}

/// How many launches of so many seconds are a window, and how many windows there are at the least and at the most.
fn windows(one: f64) -> (usize, usize, usize) {
    let launches = (WINDOW_SECONDS / one.max(1e-9)).ceil().clamp(1.0, MOST_LAUNCHES as f64);
    let of = |seconds: f64| (seconds / (launches * one.max(1e-9))).ceil() as usize;
    (launches as usize, of(WARM_SECONDS), of(MOST_WARM_SECONDS))
}

/// Takes figures until there are `least` and the last [`ALIKE`] differ by less than [`STEADY`], or `most` are taken; how many were.
fn settle<E>(least: usize, most: usize, mut figure: impl FnMut() -> Result<f64, E>) -> Result<usize, E> {
    let mut figures = Vec::new();
    while figures.len() < most {
        figures.push(figure()?);
        if let Some(last) = figures.len().checked_sub(ALIKE).map(|first| &figures[first..]) {
            let (lowest, largest) = last.iter().fold((f64::MAX, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
            if figures.len() >= least && largest < lowest * (1.0 + STEADY) {
                break;
            }
        }
    }
    Ok(figures.len())
}

/// What the driver says where only a kernel can be the reason.
pub(super) fn driver(error: DriverError) -> Trouble {
    Trouble::Lost(Failure::Launch { message: error.to_string() })
}

/// Seconds of each of some copies of a large piece of device memory, and its bytes; none on the emulated device.
pub(super) fn copies(device: &Device) -> Result<Option<(u64, Vec<f64>)>, Trouble> {
    const LARGE: u64 = 1 << 30;
    const REPEATS: usize = 15;
    let Some(stream) = device.stream() else { return Ok(None) };
    let bytes = LARGE.min(device.limits().memory_bytes / 8);
    let len = usize::try_from(bytes).unwrap_or(0);
    let from = stream.alloc_zeros::<u8>(len).map_err(driver)?;
    let mut to = stream.alloc_zeros::<u8>(len).map_err(driver)?;
    let mut timer = Timer::new(device, 0)?;
    let mut copy = || stream.memcpy_dtod(&from, &mut to).map_err(driver);
    timer.batch(2, &mut copy)?;
    let seconds = (0..REPEATS).map(|_| timer.sample(1, Cache::Warm, &mut copy)).collect::<Result<_, _>>()?;
    Ok(Some((bytes, seconds)))
}

#[cfg(test)]
mod tests {
    use super::{settle, windows};

    /// Steady for a moment is not warm: windows of short launches, of which there are no more than 2000, are short.
    #[test]
    fn a_device_works_for_a_time_before_it_counts_as_warm() {
        assert_eq!(windows(2e-6), (2000, 50, 250));
        assert_eq!(windows(100e-6), (200, 10, 50));
        assert_eq!(windows(0.5), (1, 1, 2));
        assert_eq!(windows(30.0), (1, 1, 1));
        let (launches, least, most) = windows(2e-6);
        let taken = settle(least, most, || Ok::<f64, ()>(2e-6)).unwrap();
        assert!(taken as f64 * launches as f64 * 2e-6 >= 0.2 - 1e-9, "{taken} windows");
    }

    #[test]
    fn a_device_is_warm_when_its_times_are_steady_and_it_is_not_waited_for_without_end() {
        assert_eq!(settle(0, 50, || Ok::<f64, ()>(1.0)), Ok(4), "as few as show it");
        // Clocks rise: times fall from 2 to 1, by half of what is left each time.
        let mut left = 2.0;
        let mut falling = || {
            left /= 2.0;
            Ok::<f64, ()>(1.0 + left)
        };
        let taken = settle(0, 50, &mut falling).unwrap();
        assert!((8..20).contains(&taken), "{taken}");
        assert_eq!(settle(0, 2, || Ok::<f64, ()>(1.0)), Ok(2), "there are no more than were asked for");
        let mut flips = [1.0, 1.1].into_iter().cycle();
        assert_eq!(settle(0, 50, || Ok::<f64, ()>(flips.next().unwrap())), Ok(50));
        assert_eq!(settle(0, 50, || Err(7)), Err(7));
    }
}
