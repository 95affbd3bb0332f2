use plotters::prelude::*;

use super::{
    BLUE, INK, MUTED, ORANGE, PALE, Plot, RULE, Side, TEXT, WIDTH, column, draw_plot, fit_text, pixel,
    pixels, round_ticks, text_style, write_text,
};
use crate::text::count;

const ROW: i32 = 24;
/// Room for the label of a bar.
const BESIDE: i32 = 130;
/// More bars than this are not drawn.
const MOST: usize = 200;

/// A column of a histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Its label; may be empty.
    pub label: String,
    /// Its height.
    pub count: f64,
    /// The height of the curve.
    pub expected: Option<f64>,
}

/// Shares as horizontal bars, with a name before and a figure after each.
pub(crate) fn bars(caption: String, rows: &[(String, f64, String)]) -> Option<Plot> {
    let rows = &rows[..rows.len().min(MOST)];
    if rows.is_empty() {
        return None;
    }
    let said: Vec<String> = rows.iter().map(|(name, _, beside)| format!("{name} {beside}")).collect();
    let height = ROW * pixels(rows.len()) + 8;
    draw_plot(caption, &format!("Bar chart. {}.", said.join(", ")), height, |area| {
        let left = column(rows.iter().map(|row| row.0.as_str()), 80, 380) + 16;
        let reach = f64::from(WIDTH - left - BESIDE);
        for (number, (name, value, beside)) in rows.iter().enumerate() {
            let (top, y) = (4 + ROW * pixels(number), 4 + ROW * pixels(number) + ROW / 2);
            write_text(
                area,
                &fit_text(name, TEXT, left - 16),
                (left - 10, y),
                &text_style(TEXT, INK, Side::Right),
            )?;
            let end = left + pixel(reach * value.clamp(0.0, 1.0));
            area.draw(&Rectangle::new([(left, top + 3), (end, top + ROW - 3)], BLUE.filled()))?;
            write_text(
                area,
                &fit_text(beside, TEXT, BESIDE),
                (end + 8, y),
                &text_style(TEXT, INK, Side::Left),
            )?;
        }
        Ok(())
    })
}

/// Counts as vertical bars, and expected counts as a curve.
pub(crate) fn histogram(caption: String, axis: &str, columns: &[Bar]) -> Option<Plot> {
    const HEIGHT: i32 = 340;
    const LEFT: i32 = 64;
    const TOP: i32 = 14;
    const BOTTOM: i32 = HEIGHT - 52;
    let columns = &columns[..columns.len().min(MOST)];
    let highest = columns.iter().map(|bar| bar.count.max(bar.expected.unwrap_or(0.0))).fold(0.0, f64::max);
    if columns.is_empty() || highest <= 0.0 || !highest.is_finite() {
        return None;
    }
    let ticks = round_ticks(highest);
    let highest = ticks.last().copied().unwrap_or(highest);
    let said: Vec<String> = columns
        .iter()
        .filter(|bar| bar.count > 0.0)
        .map(|bar| format!("{} {}", bar.label, count(bar.count)).trim().to_owned())
        .collect();
    let description = format!("Histogram over {axis}. {}.", said.join(", "));
    draw_plot(caption, &description, HEIGHT, |area| {
        let step = f64::from(WIDTH - LEFT - 10) / columns.len() as f64;
        let across = |place: f64| LEFT + pixel(step * place);
        let up = |value: f64| BOTTOM - pixel(f64::from(BOTTOM - TOP) * value / highest);
        for value in ticks {
            let y = up(value);
            area.draw(&PathElement::new([(LEFT, y), (WIDTH - 10, y)], RULE.stroke_width(1)))?;
            write_text(area, &count(value), (LEFT - 8, y), &text_style(12, MUTED, Side::Right))?;
        }
        for (place, bar) in columns.iter().enumerate() {
            let (from, to) = (across(place as f64), across(place as f64 + 1.0));
            if bar.count > 0.0 {
                let corners = [(from + 1, up(bar.count)), ((to - 1).max(from + 2), BOTTOM)];
                area.draw(&Rectangle::new(corners, PALE.filled()))?;
            }
            let middle = from.midpoint(to);
            write_text(
                area,
                &fit_text(&bar.label, 12, 90),
                (middle, BOTTOM + 14),
                &text_style(12, MUTED, Side::Middle),
            )?;
        }
        let curve: Vec<(i32, i32)> = columns
            .iter()
            .enumerate()
            .filter_map(|(place, bar)| Some((across(place as f64 + 0.5), up(bar.expected?))))
            .collect();
        if curve.len() > 1 {
            area.draw(&PathElement::new(curve, ORANGE.stroke_width(2)))?;
        }
        area.draw(&PathElement::new([(LEFT, BOTTOM), (WIDTH - 10, BOTTOM)], INK.stroke_width(1)))?;
        let middle = LEFT.midpoint(WIDTH - 10);
        write_text(
            area,
            &fit_text(axis, 12, 600),
            (middle, HEIGHT - 12),
            &text_style(12, MUTED, Side::Middle),
        )
    })
}
