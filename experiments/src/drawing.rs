//! Figures as SVG and PNG, which look the same: the letters of both are outlines of one font.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use oblivio_cli::program;
use plotters::chart::{ChartBuilder, ChartContext, SeriesLabelPosition};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::element::{Circle, DashedPathElement, EmptyElement, PathElement, Polygon};
use plotters::prelude::{DashedLineSeries, DrawingArea, IntoDrawingArea, LineSeries, SVGBackend};
use plotters::style::{
    Color, FontStyle, IntoFont, RGBAColor, RGBColor, TextStyle, WHITE, register_font,
};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, WriteOptions, fontdb};

use super::figure::{Bar, Figure, Legend, Mark, Panel, Series, Shape};
use super::ruler::Ruler;

/// Dots, which are whole numbers: large, so that rounding does not show.
const PANEL: (u32, u32) = (980, 860);
const HEAD: u32 = 160;
const FAMILY: &str = "sans-serif";

type Area<'s> = DrawingArea<SVGBackend<'s>, Shift>;
type Chart<'a, 's> = ChartContext<'a, SVGBackend<'s>, Cartesian2d<Ruler, Ruler>>;

/// Writes `name.svg` and `name.png`.
pub(super) fn write(figure: &Figure, folder: &Path, name: &str) -> Result<()> {
    let drawn = svg(figure)?;
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let options = Options {
        fontdb: Arc::new(fonts),
        ..Options::default()
    };
    let tree = Tree::from_str(&drawn, &options).context("the figure is no SVG")?;
    let outlined = tree.to_string(&WriteOptions::default());
    let size = tree.size().to_int_size();
    let mut pixels = Pixmap::new(size.width(), size.height())
        .with_context(|| format!("the figure {name} is too large"))?;
    resvg::render(&tree, Transform::default(), &mut pixels.as_mut());
    let png = pixels.encode_png().context("the figure is no PNG")?;
    program::write_bytes(&folder.join(format!("{name}.svg")), outlined.as_bytes())?;
    program::write_bytes(&folder.join(format!("{name}.png")), &png)
}

fn svg(figure: &Figure) -> Result<String> {
    // The same font measures the text.
    register_font(FAMILY, FontStyle::Normal, dejavu::sans::regular())
        .map_err(|_| anyhow!("the font of the figures cannot be read"))?;
    let columns = figure.panels.len().max(1);
    let width = PANEL.0 * columns as u32;
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (width, PANEL.1 + HEAD)).into_drawing_area();
        root.fill(&WHITE)?;
        let body = root
            .margin(16, 0, 0, 0)
            .titled(&figure.title, letters(40))?
            .titled(&figure.caption, letters(27).color(&grey(0.65)))?;
        for (area, panel) in body.split_evenly((1, columns)).iter().zip(&figure.panels) {
            draw(area, panel)?;
        }
        root.present()?;
    }
    Ok(text)
}

fn draw(area: &Area, panel: &Panel) -> Result<()> {
    let extent: Vec<(f64, f64)> = panel.series.iter().flat_map(|s| s.mark.extent()).collect();
    let x = Ruler::new(&panel.x, extent.iter().map(|point| point.0));
    let y = Ruler::new(&panel.y, extent.iter().map(|point| point.1));
    let mut chart = ChartBuilder::on(area)
        .margin(18)
        .margin_right(30)
        .caption(&panel.title, letters(30))
        .x_label_area_size(92)
        .y_label_area_size(125)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .x_desc(&panel.x.label)
        .y_desc(&panel.y.label)
        .axis_desc_style(letters(30))
        .label_style(letters(26))
        .axis_style(grey(0.5).stroke_width(2))
        .bold_line_style(grey(0.1).stroke_width(2))
        .draw()?;
    for series in &panel.series {
        add(&mut chart, series)?;
    }
    let position = match panel.legend {
        Legend::UpperRight => SeriesLabelPosition::UpperRight,
        Legend::UpperLeft => SeriesLabelPosition::UpperLeft,
        Legend::LowerLeft => SeriesLabelPosition::LowerLeft,
        Legend::MiddleRight => SeriesLabelPosition::MiddleRight,
        Legend::None => return Ok(()),
    };
    chart
        .configure_series_labels()
        .position(position)
        .margin(18)
        .legend_area_size(62)
        .label_font(letters(25))
        .background_style(WHITE.mix(0.85))
        .border_style(grey(0.25))
        .draw()?;
    Ok(())
}

fn add(chart: &mut Chart, series: &Series) -> Result<()> {
    let (r, g, b) = series.colour.rgb();
    let colour = RGBColor(r, g, b);
    let line = colour.stroke_width(4);
    let drawn = match &series.mark {
        Mark::Line(points) => chart.draw_series(LineSeries::new(points.clone(), line))?,
        Mark::Dashed(points) => {
            chart.draw_series(DashedLineSeries::new(points.clone(), 12, 9, line))?
        }
        Mark::Cloud(points) => {
            let style = colour.mix(0.35).filled();
            chart.draw_series(points.iter().map(|p| Circle::new(*p, 4, style)))?
        }
        Mark::Bars(shape, bars) => {
            chart
                .draw_series(bars.iter().map(|bar| {
                    PathElement::new(vec![(bar.x, bar.low), (bar.x, bar.high)], line)
                }))?;
            chart.draw_series(bars.iter().flat_map(caps).map(|end| {
                EmptyElement::at(end) + PathElement::new(vec![(-8, 0), (8, 0)], line)
            }))?;
            let at = |bar: &Bar| EmptyElement::at((bar.x, bar.y));
            match corners(*shape) {
                Some(corners) => chart.draw_series(
                    bars.iter()
                        .map(|bar| at(bar) + Polygon::new(corners.clone(), colour.filled())),
                )?,
                None => chart.draw_series(
                    bars.iter()
                        .map(|bar| at(bar) + Circle::new((0, 0), 11, colour.filled())),
                )?,
            }
        }
    };
    if series.name.is_empty() {
        return Ok(());
    }
    let drawn = drawn.label(&series.name);
    match &series.mark {
        Mark::Line(_) => {
            drawn.legend(move |(x, y)| PathElement::new([(x + 4, y), (x + 52, y)], line));
        }
        Mark::Dashed(_) => {
            drawn.legend(move |(x, y)| {
                DashedPathElement::new([(x + 4, y), (x + 52, y)], 12, 9, line)
            });
        }
        Mark::Cloud(_) => {
            drawn.legend(move |(x, y)| Circle::new((x + 28, y), 6, colour.mix(0.6).filled()));
        }
        Mark::Bars(shape, _) => match corners(*shape) {
            Some(corners) => {
                drawn.legend(move |(x, y)| {
                    let moved = corners.iter().map(|(a, b)| (x + 28 + a, y + b));
                    Polygon::new(moved.collect::<Vec<_>>(), colour.filled())
                });
            }
            None => {
                drawn.legend(move |(x, y)| Circle::new((x + 28, y), 11, colour.filled()));
            }
        },
    }
    Ok(())
}

/// The ends of a bar, unless it has no length.
fn caps(bar: &Bar) -> Vec<(f64, f64)> {
    if bar.high > bar.low {
        vec![(bar.x, bar.low), (bar.x, bar.high)]
    } else {
        Vec::new()
    }
}

/// The corners of a marker around zero; a circle has none.
fn corners(shape: Shape) -> Option<Vec<(i32, i32)>> {
    match shape {
        Shape::Circle => None,
        Shape::Square => Some(vec![(-10, -10), (10, -10), (10, 10), (-10, 10)]),
        Shape::Triangle => Some(vec![(0, -13), (12, 9), (-12, 9)]),
        Shape::Diamond => Some(vec![(0, -13), (13, 0), (0, 13), (-13, 0)]),
    }
}

fn letters(size: i32) -> TextStyle<'static> {
    (FAMILY, size).into_font().color(&grey(0.85))
}

fn grey(darkness: f64) -> RGBAColor {
    RGBColor(0, 0, 0).mix(darkness)
}
