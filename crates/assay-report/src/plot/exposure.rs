use assay_analysis::Arm;
use plotters::prelude::*;

use super::{
    BAND, INK, MUTED, PALE, Plot, Side, TEXT, WIDTH, column, draw_plot, fit_text, pixel, pixels, text_style,
    write_text,
};
use crate::labels::Labels;
use crate::text::percent;

const ROW: i32 = 30;
const TOP: i32 = 30;
const STAGES: [&str; 5] = ["offered", "advertised", "mentioned", "opened", "executed"];

/// The skill exposure funnel of each arm: a bar for each stage.
pub(crate) fn exposure(arms: &[Arm], labels: &Labels) -> Option<Plot> {
    let rows: Vec<(String, [f64; 5])> = arms
        .iter()
        .filter(|arm| arm.exposure.offered > 0.0)
        .map(|arm| {
            let name = labels.arm(&arm.who, &arm.condition);
            let shares = &arm.exposure;
            let shares =
                [shares.offered, shares.advertised, shares.mentioned, shares.opened, shares.executed];
            (name, shares)
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let described: Vec<String> = rows
        .iter()
        .map(|(name, shares)| {
            let stages: Vec<String> = STAGES
                .iter()
                .zip(shares)
                .map(|(stage, share)| format!("{stage} {}", percent(*share)))
                .collect();
            format!("{name}: {}", stages.join(", "))
        })
        .collect();
    let caption = "Skill exposure funnel: share of valid trials that reached each stage.";
    let height = TOP + ROW * pixels(rows.len()) + 4;
    let description = format!("Skill exposure funnel. {}.", described.join(". "));
    draw_plot(caption.to_owned(), &description, height, |area| {
        let left = column(rows.iter().map(|(name, _)| name.as_str()), 60, 360) + 16;
        let stage = (WIDTH - left) / 5;
        for (number, name) in STAGES.iter().enumerate() {
            let at = (left + stage * pixels(number), TOP - 14);
            write_text(area, name, at, &text_style(12, MUTED, Side::Left))?;
        }
        for (row, (name, shares)) in rows.iter().enumerate() {
            let top = TOP + ROW * pixels(row) + 4;
            let (bottom, y) = (top + ROW - 8, top + (ROW - 8) / 2);
            write_text(
                area,
                &fit_text(name, TEXT, left - 16),
                (left - 10, y),
                &text_style(TEXT, INK, Side::Right),
            )?;
            for (number, share) in shares.iter().enumerate() {
                let x = left + stage * pixels(number);
                let full = stage - 12;
                area.draw(&Rectangle::new([(x, top), (x + full, bottom)], BAND.filled()))?;
                let long = pixel(f64::from(full) * share.clamp(0.0, 1.0));
                if long > 0 {
                    area.draw(&Rectangle::new([(x, top), (x + long, bottom)], PALE.filled()))?;
                }
                write_text(area, &percent(*share), (x + 8, y), &text_style(TEXT, INK, Side::Left))?;
            }
        }
        Ok(())
    })
}
