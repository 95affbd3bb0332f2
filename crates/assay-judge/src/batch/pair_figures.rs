//! The figures of judged pairs, by conditions and judge.

use assay_diagnostic::{clean, counted};
use assay_stats::judge::{Figure, proportion};
use assay_stats::pairwise::{
    LengthControl, LengthControlError, Pair, Preference, length_control, mean_share, win_rate,
    win_rate_ties_to_shorter,
};
use serde_json::{Value, json};

use super::pair_rows::PairOrigin;
use crate::figures::{figure_cell, figure_ends, figure_value};

/// A pair and what a judge chose.
#[derive(Debug, Clone)]
pub(super) struct JudgedPair {
    pub(super) origin: PairOrigin,
    pub(super) judge: String,
    /// By order: `a` first, `b` first. `None`: undecided.
    pub(super) choices: [Option<Preference>; 2],
    /// Share of answers that agree with the majority; `None` for recorded choices.
    pub(super) agreement: Option<f64>,
}

/// Planted pairs that one judge was asked, each order for itself, and those that it missed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PlantedCount {
    pub(super) planted: usize,
    pub(super) missed: usize,
}

/// The figures of a judge's choices between two conditions.
#[derive(Debug)]
pub(super) struct PairFigures {
    conditions: [String; 2],
    judge: String,
    rows: usize,
    /// Wins, ties and losses of the first condition.
    counts: [usize; 3],
    win_rate: Option<Figure>,
    ties_to_shorter: Option<Figure>,
    length_control: Result<LengthControl, LengthControlError>,
    order_consistency: Option<Figure>,
    first_position: Option<Figure>,
    undecided: usize,
    agreement: Option<f64>,
    planted: Option<PlantedCount>,
}

impl JudgedPair {
    /// The preference, if both orders agree on one, else a tie.
    pub(super) fn preference(&self) -> Preference {
        match self.choices {
            [Some(one), Some(other)] if one == other => one,
            _ => Preference::Tie,
        }
    }

    /// Characters of `a` less those of `b`.
    pub(super) fn length_difference(&self) -> Option<f64> {
        self.origin.lengths.map(|[a, b]| a as f64 - b as f64)
    }

    /// The same pair with `b` as `a`.
    fn swapped(mut self) -> Self {
        let other = |choice: Option<Preference>| {
            choice.map(|choice| match choice {
                Preference::A => Preference::B,
                Preference::B => Preference::A,
                Preference::Tie => Preference::Tie,
            })
        };
        self.origin.conditions.reverse();
        self.origin.lengths = self.origin.lengths.map(|[a, b]| [b, a]);
        let [one, two] = self.choices;
        self.choices = [other(two), other(one)];
        self
    }

    /// The share of its choices for the result that was shown first, ties as halves. `None` if one is undecided: the
    /// other then says as much about the results as about the order.
    fn first_position(&self) -> Option<f64> {
        let [one, two] = self.choices;
        Some(f64::midpoint(one?.share(), 1.0 - two?.share()))
    }
}

/// The figures of each two conditions and judge, in the order in which they occur. Pairs of the same conditions the
/// other way round belong to the same group.
pub(super) fn figures(
    pairs: Vec<JudgedPair>,
    planted: impl Fn(&str) -> Option<PlantedCount>,
) -> Vec<PairFigures> {
    let mut groups: Vec<([String; 2], String, Vec<JudgedPair>)> = Vec::new();
    for pair in pairs {
        let [a, b] = &pair.origin.conditions;
        let same = groups.iter_mut().find(|(conditions, judge, _)| {
            *judge == pair.judge
                && (*conditions == [a.clone(), b.clone()] || *conditions == [b.clone(), a.clone()])
        });
        match same {
            Some((conditions, _, pairs)) if *conditions == pair.origin.conditions => pairs.push(pair),
            Some((_, _, pairs)) => pairs.push(pair.swapped()),
            None => groups.push((pair.origin.conditions.clone(), pair.judge.clone(), vec![pair])),
        }
    }
    let of = |(conditions, judge, pairs): ([String; 2], String, Vec<JudgedPair>)| {
        let planted = planted(&judge);
        PairFigures::of(conditions, judge, &pairs, planted)
    };
    groups.into_iter().map(of).collect()
}

impl PairFigures {
    fn of(
        conditions: [String; 2],
        judge: String,
        judged: &[JudgedPair],
        planted: Option<PlantedCount>,
    ) -> Self {
        let pairs: Vec<Pair> = judged
            .iter()
            .map(|pair| Pair {
                preference: pair.preference(),
                length_difference: pair.length_difference(),
                cluster: pair.origin.cluster,
            })
            .collect();
        let count = |preference| pairs.iter().filter(|pair| pair.preference == preference).count();
        let both = judged.iter().filter_map(|pair| {
            let [one, other] = pair.choices;
            Some((one? == other?, pair.origin.cluster))
        });
        let first = judged.iter().filter_map(|pair| Some((pair.first_position()?, pair.origin.cluster)));
        let agreements: Option<Vec<f64>> = judged.iter().map(|pair| pair.agreement).collect();
        Self {
            conditions,
            judge,
            rows: judged.len(),
            counts: [count(Preference::A), count(Preference::Tie), count(Preference::B)],
            win_rate: win_rate(&pairs),
            ties_to_shorter: win_rate_ties_to_shorter(&pairs),
            length_control: length_control(&pairs),
            order_consistency: proportion(&both.collect::<Vec<_>>()),
            first_position: mean_share(&first.collect::<Vec<_>>()),
            undecided: judged.iter().filter(|pair| pair.choices.iter().any(Option::is_none)).count(),
            agreement: agreements.map(|all| all.iter().sum::<f64>() / all.len().max(1) as f64),
            planted,
        }
    }

    /// As a part of `assay.judge-pairs/1`.
    pub(super) fn to_json(&self) -> Value {
        let [wins, ties, losses] = self.counts;
        let at_equal_length = self.length_control.as_ref().ok().map(|found| found.win_rate);
        let coefficient = self.length_control.as_ref().ok().map(|found| found.coefficient);
        let refused = self.length_control.as_ref().err().map(ToString::to_string);
        json!({
            "a": self.conditions[0], "b": self.conditions[1], "judge": self.judge, "rows": self.rows,
            "wins": wins, "ties": ties, "losses": losses,
            "win_rate": figure_value(self.win_rate), "ci95": figure_ends(self.win_rate),
            "win_rate_ties_to_shorter": figure_value(self.ties_to_shorter),
            "win_rate_ties_to_shorter_ci95": figure_ends(self.ties_to_shorter),
            "length_controlled": figure_value(at_equal_length), "length_controlled_ci95": figure_ends(at_equal_length),
            "length_coefficient": figure_value(coefficient), "length_coefficient_ci95": figure_ends(coefficient),
            "length_control_refused": refused,
            "order_consistency": figure_value(self.order_consistency),
            "order_consistency_ci95": figure_ends(self.order_consistency),
            "first_position_share": figure_value(self.first_position),
            "first_position_share_ci95": figure_ends(self.first_position),
            "undecided": self.undecided, "agreement": self.agreement,
            "planted": self.planted.map(|count| count.planted), "missed": self.planted.map(|count| count.missed),
        })
    }

    /// A table.
    pub(super) fn to_text(&self) -> String {
        let [a, b] = self.conditions.each_ref().map(|name| clean(name));
        let [wins, ties, losses] = self.counts;
        let mut lines = vec![
            ("wins, ties, losses", format!("{wins}, {ties}, {losses}")),
            ("win rate", figure_cell(self.win_rate)),
            ("  ties to the shorter", figure_cell(self.ties_to_shorter)),
        ];
        match &self.length_control {
            Ok(found) => lines.extend([
                ("  at equal length", figure_cell(Some(found.win_rate))),
                ("length coefficient", figure_cell(Some(found.coefficient))),
            ]),
            Err(error) => lines.push(("  at equal length", format!("- ({error})"))),
        }
        lines.extend([
            ("order consistency", figure_cell(self.order_consistency)),
            ("first position", figure_cell(self.first_position)),
        ]);
        if self.undecided > 0 {
            lines.push(("undecided", self.undecided.to_string()));
        }
        if let Some(agreement) = self.agreement.filter(|agreement| *agreement < 1.0) {
            lines.push(("agreement", format!("{agreement:.3}")));
        }
        if let Some(PlantedCount { planted, missed }) = self.planted {
            lines.push(("planted, missed", format!("{planted}, {missed}")));
        }
        let rows = counted(self.rows, "pair", "pairs");
        let mut text = format!("{a} against {b}, {}: {rows}\n", clean(&self.judge));
        for (name, value) in lines {
            text.push_str(&format!("  {name:<24}{value}\n"));
        }
        text
    }
}
