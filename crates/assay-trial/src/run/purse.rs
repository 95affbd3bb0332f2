//! A cap on what a run may spend, as providers report it: estimates are kept out by whoever settles.

/// Keeps count of what was spent, and of what the trials under way are likely to spend.
#[derive(Debug)]
pub(crate) struct Purse {
    most: Option<f64>,
    pub(crate) spent: f64,
    /// The dearest trial so far: what each one under way is taken to cost.
    dearest: Option<f64>,
    under_way: usize,
}

/// Whether another trial may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// It may; [`Purse::settle`] has to follow.
    Go,
    /// Not before one that is under way has ended.
    Wait,
    /// It may not.
    Stop,
}

impl Purse {
    pub(crate) fn new(most: Option<f64>) -> Self {
        Self { most, spent: 0.0, dearest: None, under_way: 0 }
    }

    /// Asks for one more trial. The first goes alone, since nobody knows what a trial costs before it.
    pub(crate) fn ask(&mut self) -> Leave {
        if let Some(most) = self.most {
            let each = self.dearest.unwrap_or(0.0);
            if self.spent >= most || self.spent + each > most {
                return Leave::Stop;
            }
            let unknown = self.dearest.is_none() && self.under_way > 0;
            if unknown || self.spent + each * (self.under_way as f64 + 1.0) > most {
                return Leave::Wait;
            }
        }
        self.under_way += 1;
        Leave::Go
    }

    /// Ends a trial. An unknown cost counts as nothing.
    pub(crate) fn settle(&mut self, cost: Option<f64>) {
        self.under_way = self.under_way.saturating_sub(1);
        if let Some(cost) = cost {
            self.spent += cost;
            self.dearest = Some(self.dearest.unwrap_or(0.0).max(cost));
        }
    }

    /// Counts a try that is followed by another of the same trial.
    pub(crate) fn pay(&mut self, cost: Option<f64>) {
        self.spent += cost.unwrap_or(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cap_holds_while_several_are_under_way() {
        let mut purse = Purse::new(Some(1.0));
        assert_eq!(purse.ask(), Leave::Go);
        // Nothing is known yet: the second waits for the first.
        assert_eq!(purse.ask(), Leave::Wait);
        purse.settle(Some(0.3));
        assert_eq!(purse.ask(), Leave::Go);
        assert_eq!(purse.ask(), Leave::Go);
        // .3 spent, two under way at .3 each: a third would come to 1.2.
        assert_eq!(purse.ask(), Leave::Wait);
        purse.settle(Some(0.3));
        purse.settle(Some(0.2));
        // .8 spent: one more at .3 would pass 1.
        assert_eq!(purse.ask(), Leave::Stop);
        assert!((purse.spent - 0.8).abs() < 1e-12);
    }

    #[test]
    fn no_cap_holds_nobody_up() {
        let mut purse = Purse::new(None);
        for _ in 0..100 {
            assert_eq!(purse.ask(), Leave::Go);
        }
        assert_eq!(Purse::new(Some(0.0)).ask(), Leave::Stop);
    }
}
