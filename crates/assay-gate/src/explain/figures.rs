//! What would decide a claim, by a lift and its interval.

use assay_report::pp;

/// A lift with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LiftFigures(pub(super) f64, pub(super) f64, pub(super) f64);

impl LiftFigures {
    /// What would decide a claim that the lift is above a bound: nothing, if the interval lies on one side of it.
    pub(super) fn describe_deciding(self, bound: f64, tasks: usize) -> Vec<String> {
        let Self(lift, low, high) = self;
        if low > bound || high <= bound {
            return Vec::new();
        }
        let mut next = vec![format!(
            "to pass, the lower limit of {} must be above {}; to fail, the upper limit of {} must not",
            pp(low),
            bound_in_points(bound),
            pp(high)
        )];
        // The length of an interval falls with the root of the number of tasks.
        let half = if lift > bound { lift - low } else { high - lift };
        let needed = (half / (lift - bound).abs()).powi(2) * tasks as f64;
        next.push(if needed < 10_000.0 {
            let word = if lift > bound { "pass" } else { "fail" };
            format!("about {needed:.0} tasks in place of {tasks} {word} if the lift stays what it is")
        } else {
            format!("more tasks than {tasks}: the lift lies at the bound")
        });
        next
    }
}

/// What a lift must be above: a sign in front of nothing reads badly.
pub(super) fn bound_in_points(bound: f64) -> String {
    if bound.abs() < 0.0005 { "0 pp".to_owned() } else { pp(bound) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undecided_figures_name_the_tasks_that_decide() {
        let check = |figures: LiftFigures, bound: f64, expected: &[&str]| {
            assert_eq!(figures.describe_deciding(bound, 12), expected);
        };
        let limits = |low: &str, bound: &str, high: &str| {
            format!(
                "to pass, the lower limit of {low} must be above {bound}; to fail, the upper limit of {high} must not"
            )
        };
        // A half-width of 20 points, 10 points from the bound: four times the tasks.
        let first = limits("\u{2212}10 pp", "0 pp", "+30 pp");
        check(
            LiftFigures(0.1, -0.1, 0.3),
            0.0,
            &[&first, "about 48 tasks in place of 12 pass if the lift stays what it is"],
        );
        let second = limits("\u{2212}40 pp", "\u{2212}10 pp", "+0 pp");
        check(
            LiftFigures(-0.2, -0.4, 0.0),
            -0.1,
            &[&second, "about 48 tasks in place of 12 fail if the lift stays what it is"],
        );
        let third = limits("\u{2212}20 pp", "0 pp", "+20 pp");
        check(LiftFigures(0.0, -0.2, 0.2), 0.0, &[&third, "more tasks than 12: the lift lies at the bound"]);
        // Either side of the bound decides.
        check(LiftFigures(0.1, 0.01, 0.2), 0.0, &[]);
        check(LiftFigures(-0.3, -0.4, -0.2), -0.1, &[]);
    }
}
