use assay_analysis::explore::{Frontier, FrontierPoint};
use plotters::prelude::*;

use super::{
    Area, BLUE, Drawn, INK, MUTED, Plot, RULE, Side, TEXT, draw_for_screens, fit_text, pixel, text_style,
    width, write_text,
};
use crate::labels::Labels;
use crate::text::{percent, usd};

const HEIGHT: i32 = 460;
const LEFT: i32 = 20;
const TOP: i32 = 14;
/// A ratio of costs above this gets a logarithmic axis.
const FAR: f64 = 20.0;
/// The longest label beside a point.
const LABEL: i32 = 340;

/// Cost and pass rate of each arm, with the frontier as steps.
pub(crate) fn frontier(frontier: &Frontier, labels: &Labels) -> Option<Plot> {
    let points = &frontier.points;
    let (cheapest, dearest) = (points.first()?.cost_usd, points.last()?.cost_usd);
    let logarithmic = cheapest > 0.0 && dearest / cheapest > FAR;
    let place = |cost: f64| if logarithmic { cost.log10() } else { cost };
    let names: Vec<String> = points.iter().map(|point| labels.arm(&point.who, &point.condition)).collect();
    let rate = if points.iter().any(|point| (point.score - point.pass_rate).abs() > f64::EPSILON) {
        "score"
    } else {
        "pass rate"
    };
    let caption = format!(
        "Mean cost per trial and {rate} with 95% CI. Filled points on the line form the frontier: no other arm has at least \
         the same {rate} at the same or a lower cost. Each condition has its own shape; numbers refer to the table."
    );
    let description = format!("Scatter plot of cost and {rate}. {}.", described(points, &names));
    draw_for_screens(
        caption,
        &description,
        |screen| screen.pick(HEIGHT, 340),
        |area, screen| {
            let (page, height) = (screen.width(), screen.pick(HEIGHT, 340));
            let (low, high) = (place(cheapest), place(dearest));
            let room = if high > low { 0.12 * (high - low) } else { (0.5 * high.abs()).max(0.001) };
            // Costs are not negative.
            let from = if logarithmic { low - room } else { (low - room).max(0.0) };
            let mut chart = ChartBuilder::on(area)
                .margin_left(LEFT)
                .margin_right(30)
                .margin_top(TOP)
                .x_label_area_size(50)
                .y_label_area_size(56)
                .build_cartesian_2d(from..high + room, -3.0..103.0)?;
            let label = text_style(12, MUTED, Side::Middle);
            chart
                .configure_mesh()
                // The library's ticks on a logarithmic axis are not round numbers.
                .x_labels(if logarithmic { 0 } else { usize::try_from(screen.pick(7, 4)).unwrap_or(4) })
                .y_labels(6)
                .x_label_formatter(&|x| short_usd(*x))
                .y_label_formatter(&|y| format!("{y:.0}%"))
                .label_style(label.clone())
                .axis_style(MUTED)
                .bold_line_style(RULE)
                .light_line_style(TRANSPARENT)
                .draw()?;
            if logarithmic {
                for sum in round_sums(10_f64.powf(from), 10_f64.powf(high + room)) {
                    let (x, bottom) = chart.backend_coord(&(sum.log10(), -3.0));
                    area.draw(&PathElement::new([(x, TOP), (x, bottom)], RULE.stroke_width(1)))?;
                    write_text(area, &short_usd(sum), (x, bottom + 14), &label)?;
                }
            }
            let at = |cost: f64, rate: f64| chart.backend_coord(&(place(cost), 100.0 * rate));
            let steps = steps(points, &at);
            area.draw(&PathElement::new(steps.clone(), BLUE.stroke_width(2)))?;
            let lines = steps.windows(2).map(|pair| Space::along(pair[0], pair[1]));
            let mut conditions: Vec<&str> = Vec::new();
            let spots: Vec<(i32, i32)> = points.iter().map(|point| at(point.cost_usd, point.score)).collect();
            for (point, &(x, y)) in points.iter().zip(&spots) {
                if let Some([low, high]) = point.score_ci95 {
                    let ends = [(x, at(point.cost_usd, low).1), (x, at(point.cost_usd, high).1)];
                    area.draw(&PathElement::new(ends, MUTED.stroke_width(1)))?;
                }
                let shape =
                    conditions.iter().position(|known| *known == point.condition).unwrap_or_else(|| {
                        conditions.push(&point.condition);
                        conditions.len() - 1
                    });
                marker(area, (x, y), shape, point.on_frontier)?;
            }
            let mut taken: Vec<Space> = spots.iter().map(|&(x, y)| Space::around(x, y)).collect();
            taken.extend(lines);
            for point in points {
                if let Some([low, high]) = point.score_ci95 {
                    taken.push(Space::along(at(point.cost_usd, low), at(point.cost_usd, high)));
                }
            }
            // Points on the frontier are labeled with their names if possible, others with their
            // numbers in the table.
            let (on, off): (Vec<usize>, Vec<usize>) =
                (0..points.len()).partition(|&number| points[number].on_frontier);
            for number in on {
                let name = format!("{} {}", number + 1, names[number]);
                if !place_label(
                    area,
                    &fit_text(&name, TEXT, screen.pick(LABEL, 110)),
                    spots[number],
                    (page, height),
                    &mut taken,
                )? {
                    place_label(area, &(number + 1).to_string(), spots[number], (page, height), &mut taken)?;
                }
            }
            for number in off {
                place_label(area, &(number + 1).to_string(), spots[number], (page, height), &mut taken)?;
            }
            let scale = if logarithmic { "mean cost per trial (log scale)" } else { "mean cost per trial" };
            write_text(area, scale, (page / 2, height - 10), &text_style(12, MUTED, Side::Middle))
        },
    )
}

/// The points in words.
fn described(points: &[FrontierPoint], names: &[String]) -> String {
    let words = points.iter().zip(names).map(|(point, name)| {
        let on = if point.on_frontier { ", on the frontier" } else { "" };
        format!("{name}: {} and {}{on}", usd(point.cost_usd), percent(point.score))
    });
    words.collect::<Vec<_>>().join(". ")
}

fn short_usd(cost: f64) -> String {
    let decimals = match cost {
        cost if cost >= 0.1 => 2,
        cost if cost >= 0.01 => 3,
        cost if cost >= 0.001 => 4,
        _ => 6,
    };
    format!("${cost:.decimals$}")
}

/// 1, 2 and 5 times powers of ten, between two sums.
fn round_sums(from: f64, to: f64) -> Vec<f64> {
    let (first, last) = (pixel(from.log10().floor()), pixel(to.log10().ceil()));
    (first..=last)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)))
        .filter(|sum| (from..=to).contains(sum))
        .collect()
}

/// The frontier as a step line.
fn steps(points: &[FrontierPoint], at: &impl Fn(f64, f64) -> (i32, i32)) -> Vec<(i32, i32)> {
    let mut path: Vec<(i32, i32)> = Vec::new();
    for point in points.iter().filter(|point| point.on_frontier) {
        let (x, y) = at(point.cost_usd, point.score);
        if let Some(&(_, before)) = path.last() {
            path.push((x, before));
        }
        path.push((x, y));
    }
    path
}

/// A shape for each condition, filled on the frontier.
fn marker(area: &Area<'_>, (x, y): (i32, i32), shape: usize, filled: bool) -> Drawn {
    let r = 7;
    let corners: &[(i32, i32)] = match shape % 6 {
        0 => &[],
        1 => &[(0, -8), (8, 6), (-8, 6)],
        2 => &[(-6, -6), (6, -6), (6, 6), (-6, 6)],
        3 => &[(0, -9), (9, 0), (0, 9), (-9, 0)],
        4 => &[(0, 8), (8, -6), (-8, -6)],
        _ => &[
            (-3, -8),
            (3, -8),
            (3, -3),
            (8, -3),
            (8, 3),
            (3, 3),
            (3, 8),
            (-3, 8),
            (-3, 3),
            (-8, 3),
            (-8, -3),
            (-3, -3),
        ],
    };
    let fill = if filled { BLUE } else { WHITE };
    if corners.is_empty() {
        area.draw(&Circle::new((x, y), r, fill.filled()))?;
        return area.draw(&Circle::new((x, y), r, INK.stroke_width(2)));
    }
    let mut outline: Vec<(i32, i32)> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
    area.draw(&Polygon::new(outline.clone(), fill.filled()))?;
    outline.extend(outline.first().copied());
    area.draw(&PathElement::new(outline, INK.stroke_width(2)))
}

/// An occupied area.
struct Space {
    left: i32,
    top: i32,
    right: i32,
    bottom: i32,
}

impl Space {
    fn around(x: i32, y: i32) -> Self {
        Self { left: x - 9, top: y - 9, right: x + 9, bottom: y + 9 }
    }

    /// A horizontal or vertical line.
    fn along((x, y): (i32, i32), (to_x, to_y): (i32, i32)) -> Self {
        Self { left: x.min(to_x) - 2, top: y.min(to_y) - 2, right: x.max(to_x) + 2, bottom: y.max(to_y) + 2 }
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    /// Whether it is inside the plotting area of a drawing of this size.
    fn inside(&self, (width, height): (i32, i32)) -> bool {
        self.left >= LEFT + 56 && self.right <= width && self.top >= 0 && self.bottom <= height - 50
    }
}

/// Writes a name next to its point, at the first free place; returns whether there was one.
fn place_label(
    area: &Area<'_>,
    name: &str,
    (x, y): (i32, i32),
    size: (i32, i32),
    taken: &mut Vec<Space>,
) -> Result<bool, DrawingAreaErrorKind<std::io::Error>> {
    let long = width(name, TEXT);
    for (dx, dy) in [
        (12, 0),
        (12, -14),
        (12, 14),
        (-12, 0),
        (-12, -14),
        (-12, 14),
        (12, -28),
        (12, 28),
        (-12, -28),
        (-12, 28),
        (12, -42),
        (12, 42),
        (-12, -42),
        (-12, 42),
    ] {
        let left = if dx > 0 { x + dx } else { x + dx - long };
        let space = Space { left, top: y + dy - 8, right: left + long, bottom: y + dy + 8 };
        if space.inside(size) && !taken.iter().any(|other| other.meets(&space)) {
            let side = if dx > 0 { Side::Left } else { Side::Right };
            write_text(area, name, (x + dx, y + dy), &text_style(TEXT, INK, side))?;
            taken.push(space);
            return Ok(true);
        }
    }
    Ok(false)
}
