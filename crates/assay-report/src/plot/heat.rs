use assay_analysis::explore::{HeatMap, HeatRow};
use plotters::prelude::*;

use super::{
    INK, MUTED, Plot, RULE, Side, TEXT, WIDTH, column, draw_plot, fit_text, pixel, pixels, text_style,
    write_text,
};
use crate::labels::Labels;
use crate::sentences::who;
use crate::text::{counted, percent, points};

const ROW: i32 = 26;
const TOP: i32 = 34;
/// Room for a row's lift.
const LIFT: i32 = 90;
/// With more than twice as many rows, only the first and last of them are drawn.
const HALF: usize = 60;

/// A heat map of tasks by conditions, with the figures in its cells.
pub(crate) fn heat(map: &HeatMap, labels: &Labels) -> Option<Plot> {
    if map.rows.is_empty() || map.conditions.is_empty() {
        return None;
    }
    let whole = map.rows.len() <= 2 * HALF;
    let rows: Vec<&HeatRow> = if whole {
        map.rows.iter().collect()
    } else {
        map.rows[..HALF].iter().chain(&map.rows[map.rows.len() - HALF..]).collect()
    };
    let mut caption = String::new();
    if labels.several() {
        caption.push_str(&format!("{}. ", who(&map.who)));
    }
    let fractional = map.rows.iter().any(|row| row.scores != row.pass_rates);
    caption.push_str(if fractional { "Mean score" } else { "Pass rate" });
    caption.push_str(" by task and condition");
    if let Some(condition) = &map.sorted_by {
        caption.push_str(&format!(", ordered by the lift of `{condition}`"));
    }
    caption.push_str(". Darker is higher.");
    if !whole {
        caption.push_str(&format!(" Shown: the first and last {HALF} of {} tasks.", map.rows.len()));
    }
    let description = format!(
        "Heat map of {} and {}; the table of tasks has the figures.",
        counted(rows.len(), "task", "tasks"),
        counted(map.conditions.len(), "condition", "conditions")
    );
    let height = TOP + ROW * pixels(rows.len()) + 6;
    draw_plot(caption, &description, height, |area| {
        let left = column(rows.iter().map(|row| row.task.as_str()), 80, 340) + 16;
        let cell = ((WIDTH - left - LIFT) / pixels(map.conditions.len())).clamp(34, 150);
        let small = text_style(12, MUTED, Side::Middle);
        for (number, condition) in map.conditions.iter().enumerate() {
            let x = left + cell * pixels(number) + cell / 2;
            write_text(area, &fit_text(condition, 12, cell - 4), (x, TOP - 14), &small)?;
        }
        let lifts = left + cell * pixels(map.conditions.len()) + 60;
        if map.sorted_by.is_some() {
            write_text(area, "lift (pp)", (lifts, TOP - 14), &text_style(12, MUTED, Side::Right))?;
        }
        for (number, row) in rows.iter().enumerate() {
            let top = TOP + ROW * pixels(number);
            let y = top + ROW / 2;
            write_text(
                area,
                &fit_text(&row.task, TEXT, left - 16),
                (left - 10, y),
                &text_style(TEXT, INK, Side::Right),
            )?;
            for (number, rate) in row.scores.iter().enumerate() {
                let x = left + cell * pixels(number);
                let corners = [(x + 1, top + 1), (x + cell - 1, top + ROW - 1)];
                let (fill, ink) = rate.map_or((WHITE, MUTED), shade);
                area.draw(&Rectangle::new(corners, fill.filled()))?;
                area.draw(&Rectangle::new(corners, RULE.stroke_width(1)))?;
                let figure = rate.map_or("–".to_owned(), percent);
                write_text(area, &figure, (x + cell / 2, y), &text_style(TEXT, ink, Side::Middle))?;
            }
            let lift = row.lift.map_or(String::new(), points);
            write_text(area, &lift, (lifts, y), &text_style(TEXT, INK, Side::Right))?;
        }
        Ok(())
    })
}

/// One hue from light to dark, which stays in order in grey, and the ink that can be read on it.
fn shade(rate: f64) -> (RGBColor, RGBColor) {
    let rate = rate.clamp(0.0, 1.0);
    let between = |light: i32, dark: i32| {
        u8::try_from(light + pixel(f64::from(dark - light) * rate)).unwrap_or(u8::MAX)
    };
    let fill = RGBColor(between(0xf7, 0x14), between(0xf9, 0x3f), between(0xfc, 0x78));
    // Where white and black can be read equally well: √(1.05 · 0.05) − 0.05.
    (fill, if luminance(fill) < 0.179 { WHITE } else { BLACK })
}

/// The relative luminance of WCAG 2.
fn luminance(color: RGBColor) -> f64 {
    let part = |value: u8| {
        let value = f64::from(value) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(color.0) + 0.7152 * part(color.1) + 0.0722 * part(color.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_are_ordered_and_readable() {
        let mut last = f64::INFINITY;
        for step in 0..=100 {
            let (fill, ink) = shade(f64::from(step) / 100.0);
            let (fill, ink) = (luminance(fill), luminance(ink));
            assert!(fill < last || step == 0, "{step}");
            last = fill;
            let contrast = (fill.max(ink) + 0.05) / (fill.min(ink) + 0.05);
            assert!(contrast >= 4.5, "{step}: {contrast}");
        }
    }
}
