use assay_analysis::explore::{TopTask, TopTasks};
use plotters::prelude::*;

use super::{
    BLUE, INK, MUTED, ORANGE, Plot, Screen, Side, TEXT, bold, column, draw_for_screens, fit_text, pixel,
    pixels, text_style, write_text,
};
use crate::labels::Labels;
use crate::text::points;

const ROW: i32 = 24;
const HEAD: i32 = 32;
/// Room for a number beside a bar.
const NUMBER: i32 = 56;
/// The most comparisons in a plot; the table has all.
const MOST: usize = 6;

/// The tasks with the largest gains and losses, as bars.
pub(crate) fn extremes(gains: &[TopTasks], losses: &[TopTasks], labels: &Labels) -> Option<Plot> {
    let parts: Vec<(String, Vec<&TopTask>)> = gains
        .iter()
        .zip(losses)
        .map(|(gains, losses)| {
            let name = labels.arm(&gains.who, &gains.condition);
            (name, gains.tasks.iter().chain(losses.tasks.iter().rev()).collect::<Vec<_>>())
        })
        .filter(|(_, tasks)| !tasks.is_empty())
        .collect();
    let drawn = &parts[..parts.len().min(MOST)];
    let rows: usize = drawn.iter().map(|(_, tasks)| tasks.len()).sum();
    if rows == 0 {
        return None;
    }
    let mut caption = "Largest gains (right) and losses (left), in pp.".to_owned();
    if parts.len() > MOST {
        caption.push_str(&format!(" Shown: the first {MOST} of {} comparisons.", parts.len()));
    }
    let described: Vec<String> = drawn
        .iter()
        .map(|(name, tasks)| {
            let tasks: Vec<String> =
                tasks.iter().map(|task| format!("{} {}", task.task, points(task.lift))).collect();
            format!("{name}: {}", tasks.join(", "))
        })
        .collect();
    let height = |_: Screen| HEAD * pixels(drawn.len()) + ROW * pixels(rows) + 6;
    let description = format!("Bar chart of the largest gains and losses. {}.", described.join(". "));
    draw_for_screens(caption, &description, height, |area, screen| {
        let page = screen.width();
        let tasks = drawn.iter().flat_map(|(_, tasks)| tasks.iter().map(|task| task.task.as_str()));
        let left = column(tasks, 80, screen.pick(320, 130)) + 16;
        let middle = left + (page - left) / 2;
        let reach = (page - left) / 2 - NUMBER;
        let mut top = 0;
        for (name, tasks) in drawn {
            let head = bold(text_style(TEXT, INK, Side::Left));
            write_text(area, &fit_text(name, TEXT, page - 40), (2, top + HEAD / 2 + 4), &head)?;
            top += HEAD;
            let bottom = top + ROW * pixels(tasks.len());
            for task in tasks {
                let y = top + ROW / 2;
                let label = text_style(TEXT, INK, Side::Right);
                write_text(area, &fit_text(&task.task, TEXT, left - 16), (left - 10, y), &label)?;
                let end = middle + pixel(f64::from(reach) * task.lift.clamp(-1.0, 1.0));
                let (color, side, beside) =
                    if task.lift > 0.0 { (BLUE, Side::Left, 6) } else { (ORANGE, Side::Right, -6) };
                let corners = [(middle.min(end), top + 3), (middle.max(end), top + ROW - 3)];
                area.draw(&Rectangle::new(corners, color.filled()))?;
                write_text(area, &points(task.lift), (end + beside, y), &text_style(TEXT, INK, side))?;
                top += ROW;
            }
            area.draw(&PathElement::new(
                [(middle, bottom), (middle, bottom - ROW * pixels(tasks.len()))],
                MUTED,
            ))?;
        }
        Ok(())
    })
}
