//! The axes of charts as SVG: scales, ticks, and a frame with labels around what a section draws.
//!
//! Colours are classes of `style.css`, so that a page follows the reader's light or dark setting.

use maud::{Markup, html};

/// Pixels of a chart in its own coordinates; the page scales it to its width.
pub(super) const WIDTH: f64 = 600.0;
pub(super) const HEIGHT: f64 = 340.0;

/// Around what is drawn: left, right, top, bottom.
const MARGIN: [f64; 4] = [60.0, 14.0, 10.0, 46.0];

/// The highest end of an axis: sums and products of a few such ends are still numbers.
const HIGHEST: f64 = 1e300;

/// From values to pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    is_log: bool,
    pixels: (f64, f64),
}

impl Scale {
    /// Along x, from left to right.
    pub(super) fn x(from: f64, to: f64, is_log: bool) -> Scale {
        Scale::of(from, to, is_log, (MARGIN[0], WIDTH - MARGIN[1]))
    }

    /// Along y, from the bottom to the top.
    pub(super) fn y(from: f64, to: f64, is_log: bool) -> Scale {
        Scale::of(from, to, is_log, (HEIGHT - MARGIN[3], MARGIN[2]))
    }

    fn of(from: f64, to: f64, is_log: bool, pixels: (f64, f64)) -> Scale {
        let from = from.min(HIGHEST);
        Scale { from, to: beyond(from, to.min(HIGHEST)), is_log, pixels }
    }

    /// The pixel of a value; the nearest end of one outside.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.from, self.to);
        let share = match self.is_log {
            true => (value.ln() - self.from.ln()) / (self.to.ln() - self.from.ln()),
            false => (value - self.from) / (self.to - self.from),
        };
        tenth(self.pixels.0 + share * (self.pixels.1 - self.pixels.0))
    }

    /// Round values to label: 1, 2 and 5 times powers of ten; evenly apart where the ends are near each other.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.is_log && self.to / self.from > 5.0 {
            let decades = self.to.log10() - self.from.log10();
            let steps: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let (first, last) = (self.from.log10().floor() as i32, self.to.log10().ceil() as i32);
            let every = (decades / 8.0).ceil().max(1.0) as usize;
            let all =
                (first..=last).step_by(every).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
            return all.filter(|tick| (self.from..=self.to).contains(tick)).collect();
        }
        let step = round_step((self.to - self.from) / 5.0);
        let first = (self.from / step).ceil() as i64;
        (first..).map(|n| n as f64 * step).take_while(|tick| *tick <= self.to * (1.0 + 1e-9)).take(20).collect()
    }
}

/// An end that lies above the start.
fn beyond(from: f64, to: f64) -> f64 {
    if to > from { to } else { from + from.abs().max(1.0) }
}

/// The least of 1, 2, 5 times a power of ten that is no smaller.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|step| step * power).into_iter().find(|step| *step >= least).unwrap_or(least)
}

/// With one digit behind the point, which is as fine as a screen is.
fn tenth(pixel: f64) -> f64 {
    (pixel * 10.0).round() / 10.0
}

/// A label at a value of an axis.
pub(super) type Tick = (f64, String);

/// Those of a scale's own ticks.
pub(super) fn ticks(scale: &Scale) -> Vec<Tick> {
    scale.ticks().into_iter().map(|value| (value, number(value))).collect()
}

/// A chart: a grid, labels of the axes with their units, and in it what is drawn.
pub(super) fn chart(
    title: &str,
    (x, y): (&Scale, &Scale),
    x_ticks: &[Tick],
    labels: [&str; 2],
    drawn: &Markup,
) -> Markup {
    let [left, right, top, bottom] = [MARGIN[0], WIDTH - MARGIN[1], MARGIN[2], HEIGHT - MARGIN[3]];
    html! {
        svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(title) {
            @for (value, label) in ticks(y) {
                line.grid x1=(left) x2=(right) y1=(y.at(value)) y2=(y.at(value)) {}
                text.tick x=(left - 8.0) y=(y.at(value) + 4.0) text-anchor="end" { (label) }
            }
            @for (value, label) in x_ticks {
                line.grid x1=(x.at(*value)) x2=(x.at(*value)) y1=(top) y2=(bottom) {}
                text.tick x=(x.at(*value)) y=(bottom + 17.0) text-anchor="middle" { (label) }
            }
            line.axis x1=(left) x2=(right) y1=(bottom) y2=(bottom) {}
            line.axis x1=(left) x2=(left) y1=(top) y2=(bottom) {}
            text.label x=((left + right) / 2.0) y=(HEIGHT - 8.0) text-anchor="middle" { (labels[0]) }
            text.label x="0" y="0" text-anchor="middle" transform=(format!("translate(13 {}) rotate(-90)", (top + bottom) / 2.0)) { (labels[1]) }
            (drawn)
        }
    }
}

/// The ends of an axis for figures that are marks and lines, not bars: a little below the least and above the most, and 0 if that is near.
pub(super) fn around(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) =
        values.fold((f64::INFINITY, 0.0f64), |(least, most), value| (least.min(value), most.max(value)));
    let room = (most - least).max(0.02 * most) * 0.06;
    (if least < 0.4 * most { 0.0 } else { (least - room).max(0.0) }, most + room)
}

/// The points of an SVG polyline.
pub(super) fn points(scales: (&Scale, &Scale), values: impl Iterator<Item = (f64, f64)>) -> String {
    values.map(|(x, y)| format!("{},{}", scales.0.at(x), scales.1.at(y))).collect::<Vec<_>>().join(" ")
}

/// The marks of series, which differ in form as well as in colour.
pub(super) const MARKS: usize = 8;

/// A mark of a series around a pixel, as the path that draws it.
pub(super) fn mark(series: usize, x: f64, y: f64, r: f64) -> String {
    let path = |corners: &[(f64, f64)]| {
        let corner = |(dx, dy): &(f64, f64)| format!("{} {}", tenth(x + r * dx), tenth(y + r * dy));
        format!("M{}Z", corners.iter().map(corner).collect::<Vec<_>>().join("L"))
    };
    match series % MARKS {
        0 => format!("M{} {y}a{r} {r} 0 1 0 {} 0a{r} {r} 0 1 0 -{} 0Z", tenth(x - r), 2.0 * r, 2.0 * r),
        1 => path(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => path(&[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)]),
        3 => path(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
        4 => path(&[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)]),
        5 => path(&[
            (-0.4, -1.2),
            (0.4, -1.2),
            (0.4, -0.4),
            (1.2, -0.4),
            (1.2, 0.4),
            (0.4, 0.4),
            (0.4, 1.2),
            (-0.4, 1.2),
            (-0.4, 0.4),
            (-1.2, 0.4),
            (-1.2, -0.4),
            (-0.4, -0.4),
        ]),
        6 => path(&[(0.0, -1.3), (1.2, -0.4), (0.8, 1.0), (-0.8, 1.0), (-1.2, -0.4)]),
        _ => path(&[(-1.2, -0.6), (1.2, -0.6), (1.2, 0.6), (-1.2, 0.6)]),
    }
}

/// A number of an axis or a table: three digits, without an exponent.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        ..0.01 => format!("{value:.4}"),
        ..1.0 => format!("{value:.2}").trim_end_matches('0').to_owned(),
        ..10.0 if value.fract() != 0.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(Scale::y(0.0, 100.0, false).ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(Scale::x(80.0, 2048.0, true).ticks(), [100.0, 200.0, 500.0, 1000.0, 2000.0]);
        assert_eq!(Scale::x(245.0, 360.0, true).ticks(), [250.0, 300.0, 350.0]);
        // One value has an axis too.
        assert!(!Scale::x(7.0, 7.0, true).ticks().is_empty() && Scale::x(0.0, 0.0, false).at(0.0).is_finite());
        assert_eq!([0.0, 0.125, 2.5, 3.0, 250.4].map(number), ["0", "0.12", "2.5", "3", "250"]);
    }

    #[test]
    fn values_outside_stand_at_an_end() {
        let scale = Scale::y(1.0, 10.0, true);
        assert_eq!(scale.at(1e9), scale.at(10.0));
        assert_eq!(scale.at(0.0), scale.at(1.0));
        for scale in [
            Scale::y(f64::MAX / 1.1, f64::INFINITY, true),
            Scale::x(0.0, f64::MAX, false),
            Scale::x(1e-300, 1e308, true),
        ] {
            assert!(scale.at(f64::MAX).is_finite() && scale.ticks().iter().all(|tick| scale.at(*tick).is_finite()));
        }
    }
}
