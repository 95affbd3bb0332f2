//! Plots of findings.
//!
//! The charting library writes SVG and escapes every text in it. Nothing depends on color alone:
//! shapes, positions and numbers show the same. Lengths are in pixels of a page that is [`WIDTH`]
//! wide.

pub(crate) mod bars;
mod exposure;
mod extremes;
mod forest;
mod frontier;
mod heat;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use unicode_width::UnicodeWidthStr;

use crate::text::clean;

pub(crate) use exposure::exposure;
pub(crate) use extremes::extremes;
pub(crate) use forest::forest;
pub(crate) use frontier::frontier;
pub(crate) use heat::heat;

/// How wide plots are.
const WIDTH: i32 = 960;

/// The screen that a drawing is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Screen {
    /// A page, or a file.
    Wide,
    /// A telephone of 400 pixels, less the margins of the page.
    Narrow,
}

impl Screen {
    /// How wide the drawing is.
    fn width(self) -> i32 {
        match self {
            Self::Wide => WIDTH,
            Self::Narrow => 368,
        }
    }

    /// One of two values.
    fn pick(self, wide: i32, narrow: i32) -> i32 {
        match self {
            Self::Wide => wide,
            Self::Narrow => narrow,
        }
    }
}

/// The size of most text.
const TEXT: i32 = 13;

const INK: RGBColor = RGBColor(0x1b, 0x1f, 0x24);
const MUTED: RGBColor = RGBColor(0x57, 0x60, 0x6a);
const RULE: RGBColor = RGBColor(0xd5, 0xda, 0xe0);
const BAND: RGBColor = RGBColor(0xe9, 0xec, 0xf0);
const BLUE: RGBColor = RGBColor(0x1f, 0x5a, 0xa0);
const PALE: RGBColor = RGBColor(0x9c, 0xbd, 0xe0);
const ORANGE: RGBColor = RGBColor(0xb4, 0x53, 0x09);

/// A drawing with its description.
pub(crate) struct Plot {
    /// Its content, and how to read it.
    pub(crate) caption: String,
    /// Its content, for readers who cannot see it.
    pub(crate) description: String,
    /// Width and height.
    pub(crate) size: (i32, i32),
    /// The contents of the `svg` element.
    pub(crate) body: String,
    /// Size and contents of the same drawing for narrow screens, if there is one.
    pub(crate) narrow: Option<((i32, i32), String)>,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Draws; `None` if the library fails, because the tables contain the same.
fn draw_plot(
    caption: String,
    description: &str,
    height: i32,
    paint: impl FnOnce(&Area<'_>) -> Drawn,
) -> Option<Plot> {
    let (size, body) = drawing(WIDTH, height, paint)?;
    Some(Plot { caption, description: clean(description), size, body, narrow: None })
}

/// Draws for wide and for narrow screens; otherwise as [`draw_plot`].
fn draw_for_screens(
    caption: String,
    description: &str,
    height: impl Fn(Screen) -> i32,
    paint: impl Fn(&Area<'_>, Screen) -> Drawn,
) -> Option<Plot> {
    let draw = |screen: Screen| drawing(screen.width(), height(screen), |area| paint(area, screen));
    let (size, body) = draw(Screen::Wide)?;
    let narrow = draw(Screen::Narrow);
    Some(Plot { caption, description: clean(description), size, body, narrow })
}

/// Size and contents of a drawing.
fn drawing(width: i32, height: i32, paint: impl FnOnce(&Area<'_>) -> Drawn) -> Option<((i32, i32), String)> {
    let size = (u32::try_from(width).ok()?, u32::try_from(height).ok()?);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        paint(&area).ok()?;
        area.present().ok()?;
    }
    let (_, body) = svg.split_once('>')?;
    Some(((width, height), themed(body.trim().strip_suffix("</svg>")?)))
}

/// The colors that a dark page changes, each with the class that a style may give another color to. Colors
/// are attributes as well, for programs that know no styles.
const THEMED: [(&str, &str); 8] = [
    ("#1B1F24", "ink"),
    ("#57606A", "muted"),
    ("#D5DAE0", "rule"),
    ("#E9ECF0", "band"),
    ("#1F5AA0", "blue"),
    ("#9CBDE0", "pale"),
    ("#B45309", "orange"),
    ("#FFFFFF", "paper"),
];

/// The colors of plots on dark pages.
pub(crate) const DARK: &str = "\
.f-ink { fill: #e6e9ed; } .s-ink { stroke: #e6e9ed; } .f-muted { fill: #a0a9b4; } .s-muted { stroke: #a0a9b4; }
.f-rule { fill: #3a414a; } .s-rule { stroke: #3a414a; } .f-band { fill: #2a3038; } .s-band { stroke: #2a3038; }
.f-blue { fill: #6aa5f0; } .s-blue { stroke: #6aa5f0; } .f-pale { fill: #2f5482; } .s-pale { stroke: #2f5482; }
.f-orange { fill: #e08a3c; } .s-orange { stroke: #e08a3c; } .f-paper { fill: #14171b; } .s-paper { stroke: #14171b; }
";

/// Gives elements the class of their color.
fn themed(body: &str) -> String {
    THEMED.iter().fold(body.to_owned(), |body, (color, name)| {
        ["fill", "stroke"].into_iter().fold(body, |body, attribute| {
            let color = format!("{attribute}=\"{color}\"");
            let class = format!("{color} class=\"{}-{name}\"", &attribute[..1]);
            body.replace(&color, &class)
        })
    })
}

/// The alignment of a text at its point.
#[derive(Clone, Copy)]
enum Side {
    /// The point is its left end.
    Left,
    /// The point is its middle.
    Middle,
    /// The point is its right end.
    Right,
}

/// A style of text.
fn text_style(size: i32, color: RGBColor, side: Side) -> TextStyle<'static> {
    let position = match side {
        Side::Left => HPos::Left,
        Side::Middle => HPos::Center,
        Side::Right => HPos::Right,
    };
    // The library takes 1.24 for the ratio of a line to its letters.
    let font = FontDesc::new(FontFamily::SansSerif, 1.24 * f64::from(size), FontStyle::Normal);
    TextStyle { font, color: color.to_backend_color(), pos: Pos::new(position, VPos::Center) }
}

/// The same in bold.
fn bold(mut style: TextStyle<'static>) -> TextStyle<'static> {
    style.font = style.font.style(FontStyle::Bold);
    style
}

/// Writes a text; names have to be cleaned by [`fit`].
fn write_text(area: &Area<'_>, text: &str, at: (i32, i32), style: &TextStyle<'_>) -> Drawn {
    if text.is_empty() { Ok(()) } else { area.draw(&Text::new(text.to_owned(), at, style.clone())) }
}

/// The approximate width of a text: there is no font here, and readers have different ones.
fn width(text: &str, size: i32) -> i32 {
    let columns = i32::try_from(text.width()).unwrap_or(i32::MAX / 1000);
    columns.saturating_mul(size).saturating_mul(3) / 5
}

/// A name cut to the available width.
fn fit_text(name: &str, size: i32, room: i32) -> String {
    let name = clean(name);
    if width(&name, size) <= room {
        return name;
    }
    let mut short = String::new();
    for c in name.chars() {
        short.push(c);
        if width(&short, size) + size > room {
            short.pop();
            break;
        }
    }
    short.truncate(short.trim_end().len());
    short + "…"
}

/// The room that a column of names takes, between bounds.
fn column<'a>(names: impl Iterator<Item = &'a str>, least: i32, most: i32) -> i32 {
    names.map(|name| width(&clean(name), TEXT)).max().unwrap_or(0).clamp(least, most)
}

/// A pixel from a fraction of one.
#[expect(
    clippy::cast_possible_truncation,
    reason = "plots are some thousand pixels wide, and the cast saturates"
)]
fn pixel(at: f64) -> i32 {
    at.round() as i32
}

/// A count in pixels; plots have few rows.
fn pixels(rows: usize) -> i32 {
    i32::try_from(rows).unwrap_or(i32::MAX / 100)
}

/// Round values from 0 to at least `highest`: multiples of 1, 2, 2.5 or 5 times a power of ten, with four or five
/// steps.
fn round_ticks(highest: f64) -> Vec<f64> {
    let power = 10_f64.powf((highest / 5.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|digit| digit * power);
    let step = { step }.find(|step| step * 5.0 >= highest * (1.0 - 1e-9)).unwrap_or(highest);
    let mut ticks = vec![0.0];
    while ticks.last().is_some_and(|last| *last < highest * (1.0 - 1e-9)) {
        ticks.push(step * ticks.len() as f64);
    }
    ticks
}

/// One end of an axis, in points, slightly beyond its data.
fn beyond(end: f64) -> f64 {
    let end = end + 3.0 * end.signum();
    (end.abs() / 10.0).ceil() * 10.0 * end.signum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_end_in_an_ellipsis() {
        assert_eq!(fit_text("short", 13, 100), "short");
        assert_eq!(fit_text("a-name-that-is-long", 13, 80), "a-name-t…");
        assert_eq!(fit_text("技能技能技能", 13, 60), "技能技…");
        assert!(width(&fit_text(&"x".repeat(1000), 13, 300), 13) <= 300);
        assert_eq!(fit_text("a\u{1b}b", 13, 100), "a\u{fffd}b");
    }

    #[test]
    fn ticks_are_round() {
        let check = |highest: f64, expected: &[f64]| assert_eq!(round_ticks(highest), expected, "{highest}");
        check(5.0, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        check(7.0, &[0.0, 2.0, 4.0, 6.0, 8.0]);
        check(123.0, &[0.0, 25.0, 50.0, 75.0, 100.0, 125.0]);
        check(0.9, &[0.0, 0.2, 0.4, 3.0 * 0.2, 0.8, 1.0]);
        check(4_321.0, &[0.0, 1_000.0, 2_000.0, 3_000.0, 4_000.0, 5_000.0]);
    }

    #[test]
    fn colors_have_classes_for_dark_pages() {
        let plot = draw_plot(String::new(), "", 20, |area| {
            area.draw(&Rectangle::new([(0, 0), (5, 5)], PALE.filled()))?;
            area.draw(&PathElement::new([(0, 0), (5, 5)], BLUE))
        });
        let body = plot.map(|plot| plot.body).unwrap_or_default();
        for part in ["fill=\"#9CBDE0\" class=\"f-pale\"", "stroke=\"#1F5AA0\" class=\"s-blue\""] {
            assert!(body.contains(part), "{body}");
        }
        for (_, name) in THEMED {
            assert!(DARK.contains(&format!(".f-{name} ")) && DARK.contains(&format!(".s-{name} ")), "{name}");
        }
    }

    #[test]
    fn texts_are_escaped_by_the_library() {
        let plot = draw_plot(String::new(), "", 20, |area| {
            write_text(area, "<script>&\"'", (0, 0), &text_style(12, INK, Side::Left))
        });
        let body = plot.map(|plot| plot.body).unwrap_or_default();
        assert!(body.contains("&lt;script&gt;&amp;"), "{body}");
        assert!(!body.contains("<script"), "{body}");
    }
}
