use assay_analysis::{Comparison, VerdictKind};
use plotters::prelude::*;

use super::{
    BAND, BLUE, Drawn, INK, MUTED, PALE, Plot, RULE, Screen, Side, TEXT, beyond, bold, column,
    draw_for_screens, fit_text, pixel, pixels, text_style, write_text,
};
use crate::labels::Labels;
use crate::text::{points, points_between, pp};

const ROW: i32 = 36;
const NARROW_ROW: i32 = 52;
const TOP: i32 = 10;
const AXIS: i32 = 46;
/// Room for the figures of a row.
const RIGHT: i32 = 270;

/// Each comparison's lift with the interval that decides, and the margin as a band.
pub(crate) fn forest(comparisons: &[Comparison], margin: f64, labels: &Labels) -> Option<Plot> {
    let rows: Vec<(String, &Comparison)> = comparisons
        .iter()
        .filter(|comparison| comparison.lift.is_some())
        .map(|item| (labels.arm(&item.who, &item.condition), item))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let described: Vec<String> = rows
        .iter()
        .map(|(name, item)| {
            let between = item
                .family
                .map_or("no CI".to_owned(), |family| points_between(Some([family.low, family.high])));
            format!("{name}: {} ({between}), {}", pp(item.lift.unwrap_or(0.0)), item.word())
        })
        .collect();
    let caption = caption(&rows, margin);
    // On a narrow screen the names stand above the intervals, and the figures below the plot.
    let row_height = |screen: Screen| screen.pick(ROW, NARROW_ROW);
    let height = |screen: Screen| TOP + row_height(screen) * pixels(rows.len()) + AXIS;
    let description = format!("Forest plot of lifts. {}.", described.join(". "));
    draw_for_screens(caption, &description, height, |area, screen| {
        let (page, tall) = (screen.width(), row_height(screen));
        let is_narrow = screen == Screen::Narrow;
        let right = screen.pick(RIGHT, 8);
        let names = column(rows.iter().map(|(name, _)| name.as_str()), 60, 360) + 16;
        let left = screen.pick(names, 8);
        let ends = |item: &Comparison| {
            let lift = item.lift.unwrap_or(0.0);
            let family = item.family.map_or([lift, lift], |family| [family.low, family.high]);
            let ci95 = item.ci95.unwrap_or(family);
            [family[0].min(ci95[0]).min(lift), family[1].max(ci95[1]).max(lift)]
        };
        let low = rows.iter().fold(-margin, |low, (_, item)| low.min(ends(item)[0]));
        let high = rows.iter().fold(margin, |high, (_, item)| high.max(ends(item)[1]));
        let (low, high) = (beyond(100.0 * low.min(-0.01)), beyond(100.0 * high.max(0.01)));
        let mut chart = ChartBuilder::on(area)
            .margin_left(left)
            .margin_right(right)
            .margin_top(TOP)
            .x_label_area_size(AXIS)
            .build_cartesian_2d(low..high, 0.0..rows.len() as f64)?;
        let margin = (100.0 * margin).clamp(0.0, high.max(-low));
        let bottom = rows.len() as f64;
        chart
            .plotting_area()
            .draw(&Rectangle::new([((-margin).max(low), 0.0), (margin.min(high), bottom)], BAND.filled()))?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .x_labels(if is_narrow { 5 } else { 9 })
            .x_label_formatter(&|x| points(x / 100.0))
            .x_label_style(text_style(12, MUTED, Side::Middle))
            .axis_style(MUTED)
            .bold_line_style(RULE)
            .light_line_style(TRANSPARENT)
            .draw()?;
        chart.plotting_area().draw(&PathElement::new([(0.0, 0.0), (0.0, bottom)], INK.stroke_width(1)))?;
        let across = |value: f64| chart.backend_coord(&((100.0 * value).clamp(low, high), 0.0)).0;
        for (row, (name, item)) in rows.iter().enumerate() {
            let top = TOP + tall * pixels(row);
            let y = top + screen.pick(ROW / 2, NARROW_ROW - 18);
            if is_narrow {
                let label = text_style(TEXT, INK, Side::Left);
                write_text(area, &fit_text(name, TEXT, page - 130), (8, top + 10), &label)?;
            } else {
                let label = text_style(TEXT, INK, Side::Right);
                write_text(area, &fit_text(name, TEXT, left - 16), (left - 12, y), &label)?;
            }
            if let Some(family) = item.family {
                let (from, to) = (across(family.low), across(family.high));
                if let Some([low, high]) = item.ci95 {
                    let bar = [(across(low), y - 4), (across(high), y + 4)];
                    area.draw(&Rectangle::new(bar, PALE.filled()))?;
                }
                area.draw(&PathElement::new([(from, y), (to, y)], BLUE.stroke_width(2)))?;
                for end in [from, to] {
                    area.draw(&PathElement::new([(end, y - 7), (end, y + 7)], BLUE.stroke_width(2)))?;
                }
            }
            marker(area, (across(item.lift.unwrap_or(0.0)), y), item.verdict)?;
            let between = item
                .family
                .map_or("too few tasks".to_owned(), |family| points_between(Some([family.low, family.high])));
            let figures = format!("{} ({between})", pp(item.lift.unwrap_or(0.0)));
            if !is_narrow {
                write_text(area, &figures, (page - right + 16, y), &text_style(TEXT, INK, Side::Left))?;
            }
            let verdict = bold(text_style(TEXT, INK, Side::Right));
            write_text(area, item.word(), (page - 4, screen.pick(y, top + 10)), &verdict)?;
        }
        let middle = pixel(f64::from(left + page - right) / 2.0);
        write_text(area, "lift (pp)", (middle, height(screen) - 10), &text_style(12, MUTED, Side::Middle))
    })
}

/// What the lines and marks are.
fn caption(rows: &[(String, &Comparison)], margin: f64) -> String {
    let band = format!("Gray band: equivalence margin of ±{:.0} pp.", 100.0 * margin);
    if rows.iter().all(|(_, item)| item.verdict.is_none()) {
        format!("Lift against the baseline so far. Thin: CI, adjusted for the number of comparisons. {band}")
    } else {
        format!(
            "Lift against the baseline. Thin: adjusted CI (decides). Thick: unadjusted 95% CI. {band} ▲ helps, ▼ harms, ■ \
             negligible, ○ inconclusive."
        )
    }
}

/// One shape for each verdict.
fn marker(area: &super::Area<'_>, (x, y): (i32, i32), verdict: Option<VerdictKind>) -> Drawn {
    let size = 8;
    match verdict {
        Some(VerdictKind::Helps) => area.draw(&Polygon::new(
            [(x, y - size), (x + size, y + size - 2), (x - size, y + size - 2)],
            INK.filled(),
        )),
        Some(VerdictKind::Harms) => area.draw(&Polygon::new(
            [(x, y + size), (x + size, y - size + 2), (x - size, y - size + 2)],
            INK.filled(),
        )),
        Some(VerdictKind::Negligible) => {
            area.draw(&Rectangle::new([(x - 6, y - 6), (x + 6, y + 6)], INK.filled()))
        }
        None => area.draw(&Circle::new((x, y), 3, INK.filled())),
        Some(VerdictKind::Inconclusive) => {
            area.draw(&Circle::new((x, y), 6, WHITE.filled()))?;
            area.draw(&Circle::new((x, y), 6, INK.stroke_width(2)))
        }
    }
}
