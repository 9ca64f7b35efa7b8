//! Pictures of throughput: over the shapes, the trials of a search, or the tiles of a grid, one line for each of those that are
//! compared, and the machine's peak as the upper bound.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

/// Pixels of one chart.
const CHART: (u32, u32) = (760, 360);

/// So many lines leave room for their legend.
const MOST_BESIDE: usize = 5;

/// One chart.
pub(crate) struct Chart {
    pub(crate) caption: String,
    pub(crate) peak: Option<f64>,
    pub(crate) axis: PlotAxis,
    /// For each of those compared, its figures as (position on the axis, GFLOP/s).
    pub(crate) lines: BTreeMap<String, Vec<(usize, f64)>>,
}

/// What the figures are over.
pub(crate) enum PlotAxis {
    /// The shapes, in order.
    Shapes(Vec<String>),
    /// The trials from 0 to this one.
    Trials(usize),
    /// The tiles of a grid, up to this number.
    Tiles(usize),
}

impl PlotAxis {
    fn last(&self) -> usize {
        match self {
            PlotAxis::Shapes(shapes) => shapes.len().saturating_sub(1),
            PlotAxis::Trials(last) | PlotAxis::Tiles(last) => *last,
        }
    }

    /// The most labels.
    fn labels(&self) -> usize {
        match self {
            PlotAxis::Shapes(shapes) => shapes.len(),
            PlotAxis::Trials(_) | PlotAxis::Tiles(_) => 10,
        }
    }

    fn label(&self, at: f64) -> String {
        let whole = (at - at.round()).abs() < 1e-6;
        match self {
            PlotAxis::Shapes(shapes) if whole => shapes.get(at.round().max(0.0) as usize).cloned().unwrap_or_default(),
            PlotAxis::Trials(_) | PlotAxis::Tiles(_) if whole => format!("{at:.0}"),
            _ => String::new(),
        }
    }
}

/// Writes the charts as an SVG, in rows of so many.
///
/// # Errors
///
/// Why the file cannot be drawn, or written.
pub(crate) fn write(charts: &[Chart], columns: usize, path: &Path) -> Result<(), String> {
    let mut text = String::new();
    let drawn = draw_all(charts, columns.max(1), &mut text);
    let written = drawn.and_then(|()| Ok(std::fs::write(path, text)?));
    written.map_err(|e| format!("{}: cannot be drawn: {e}", path.display()))
}

fn draw_all(charts: &[Chart], columns: usize, text: &mut String) -> Result<(), Box<dyn Error>> {
    let rows = charts.len().div_ceil(columns).max(1);
    let size = (CHART.0 * u32::try_from(columns)?, CHART.1 * u32::try_from(rows)?);
    let area = SVGBackend::with_string(text, size).into_drawing_area();
    area.fill(&WHITE)?;
    for (chart, area) in charts.iter().zip(area.split_evenly((rows, columns))) {
        draw(chart, &area)?;
    }
    Ok(area.present()?)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw(chart: &Chart, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
    let figures = chart.lines.values().flatten().map(|(_, gflops)| *gflops);
    let top = figures.chain(chart.peak).fold(1.0, f64::max) * 1.05;
    let last = chart.axis.last() as f64;
    // A legend of many names would stand on their lines.
    let end = if chart.lines.len() > MOST_BESIDE { 1.35 * last } else { last } + 0.2;
    let mut axes = ChartBuilder::on(area)
        .caption(&chart.caption, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(28)
        .y_label_area_size(48)
        .build_cartesian_2d(-0.2..end, 0.0..top)?;
    let label = |x: &f64| chart.axis.label(*x);
    axes.configure_mesh().light_line_style(WHITE).x_labels(chart.axis.labels()).x_label_formatter(&label).draw()?;
    if let Some(peak) = chart.peak {
        let line = [(-0.2, peak), (end, peak)];
        axes.draw_series(LineSeries::new(line, BLACK.mix(0.6)))?
            .label("peak of multiply-adds")
            .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], BLACK.mix(0.6)));
    }
    for (n, (name, figures)) in chart.lines.iter().enumerate() {
        let color = Palette99::pick(n).to_rgba();
        let points = figures.iter().map(|(at, gflops)| (*at as f64, *gflops));
        let size = if matches!(chart.axis, PlotAxis::Trials(_)) { 0 } else { 3 };
        axes.draw_series(LineSeries::new(points, color.stroke_width(2)).point_size(size))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    axes.configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}
