use assay_analysis::Arm;
use plotters::prelude::*;

use super::{
    BAND, INK, MUTED, PALE, Plot, Screen, Side, TEXT, column, draw_for_screens, fit_text, pixel, pixels,
    text_style, write_text,
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
        .filter_map(|arm| {
            let shares = arm.exposure.filter(|shares| shares.offered > 0.0)?;
            let name = labels.arm(&arm.who, &arm.condition);
            let shares =
                [shares.offered, shares.advertised, shares.mentioned, shares.opened, shares.executed];
            Some((name, shares))
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
    // On a narrow screen the names stand above the bars.
    let row_height = |screen: Screen| screen.pick(ROW, ROW + 20);
    let height = |screen: Screen| TOP + row_height(screen) * pixels(rows.len()) + 4;
    let description = format!("Skill exposure funnel. {}.", described.join(". "));
    draw_for_screens(caption.to_owned(), &description, height, |area, screen| {
        let (page, tall) = (screen.width(), row_height(screen));
        let is_narrow = screen == Screen::Narrow;
        let names = column(rows.iter().map(|(name, _)| name.as_str()), 60, 360) + 16;
        let left = screen.pick(names, 0);
        let stage = (page - left) / 5;
        for (number, name) in STAGES.iter().enumerate() {
            let at = (left + stage * pixels(number), TOP - 14);
            write_text(area, name, at, &text_style(12, MUTED, Side::Left))?;
        }
        for (row, (name, shares)) in rows.iter().enumerate() {
            let head = TOP + tall * pixels(row);
            let top = head + screen.pick(4, 24);
            let (bottom, y) = (top + ROW - 8, top + (ROW - 8) / 2);
            if is_narrow {
                let label = text_style(TEXT, INK, Side::Left);
                write_text(area, &fit_text(name, TEXT, page - 8), (0, head + 12), &label)?;
            } else {
                let label = text_style(TEXT, INK, Side::Right);
                write_text(area, &fit_text(name, TEXT, left - 16), (left - 10, y), &label)?;
            }
            for (number, share) in shares.iter().enumerate() {
                let x = left + stage * pixels(number);
                let full = stage - screen.pick(12, 4);
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
