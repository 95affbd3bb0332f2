//! What a run may spend, and has spent: one account for all of its trials, by whatever way they reach their models.
//!
//! Two bounds are kept with it. Each request is refused once a cap is reached; that is exact, and late: the trials under way are
//! then lost. And a trial is [started](Budget::start) only if what it is likely to cost is left. A trial is taken to cost
//! as much as the dearest before it.

use std::sync::{Arc, Mutex};

use assay_trace::Usage;

use crate::ledger::{CapKind, CapScope, Capped, Exchange, Totals};
use crate::limits::Caps;
use crate::sync::lock;

/// What a run may spend. Clones share the account. Only what providers reported counts against a cap, and costs that nobody knows count as nothing.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    run: Arc<Run>,
    /// The trial that is charged besides.
    trial: Option<Arc<Mutex<TrialAccount>>>,
}

#[derive(Debug, Default)]
struct TrialAccount {
    /// In USD, by the attempt under way, as far as it is known.
    usd: Option<f64>,
    /// What is charged after its end is the run's alone.
    has_ended: bool,
}

#[derive(Debug, Default)]
struct Run {
    caps: Caps,
    account: Mutex<Account>,
}

#[derive(Debug, Default)]
struct Account {
    totals: Totals,
    /// In USD, as far as it is known.
    usd: f64,
    /// Of it, what trials under way have spent.
    usd_under_way: f64,
    under_way: usize,
    /// The dearest trial so far.
    dearest: Option<f64>,
}

/// Whether another trial may begin.
#[derive(Debug)]
pub enum Start {
    /// It may.
    Go(Permit),
    /// Not before one that is under way has ended.
    Wait,
    /// It may not.
    Stop,
}

/// A trial under way. What it costs is known when this is dropped.
#[derive(Debug)]
pub struct Permit {
    budget: Budget,
}

impl Budget {
    /// With nothing spent.
    pub fn new(caps: Caps) -> Self {
        Self { run: Arc::new(Run { caps, account: Mutex::default() }), trial: None }
    }

    /// Asks for one more trial. The first goes alone, since nobody knows what a trial costs before it.
    pub fn start(&self) -> Start {
        let mut account = lock(&self.run.account);
        if let Some(most) = self.run.caps.usd {
            let each = account.dearest.unwrap_or(0.0);
            let ended = account.usd - account.usd_under_way;
            if ended >= most || ended + each > most {
                return Start::Stop;
            }
            let unknown = account.dearest.is_none() && account.under_way > 0;
            if unknown || ended + each * (account.under_way as f64 + 1.0) > most {
                return Start::Wait;
            }
        }
        account.under_way += 1;
        let budget = Self { run: Arc::clone(&self.run), trial: Some(Arc::default()) };
        Start::Go(Permit { budget })
    }

    /// Counts a request that was made past the gateway, by an agent that asks its model itself: its tokens, how many of them
    /// are an estimate, and what the others cost.
    pub fn charge(&self, tokens: &Usage, estimated: &Usage, usd: Option<f64>) {
        let mut account = lock(&self.run.account);
        account.totals.requests += 1;
        account.totals.tokens += *tokens;
        account.totals.estimated += u64::from(estimated.total() > 0);
        account.totals.estimated_tokens += *estimated;
        self.add_cost(&mut account, usd);
    }

    /// Counts a request that is let through.
    pub(crate) fn begin(&self) {
        lock(&self.run.account).totals.requests += 1;
    }

    /// Records what the exchange cost.
    pub(crate) fn finish(&self, exchange: &Exchange) {
        let mut account = lock(&self.run.account);
        account.totals.add(exchange);
        self.add_cost(&mut account, exchange.usd.map(|usd| usd - exchange.estimated_usd));
    }

    fn add_cost(&self, account: &mut Account, usd: Option<f64>) {
        let Some(usd) = usd else { return };
        account.usd += usd;
        if let Some(trial) = &self.trial {
            let mut trial = lock(trial);
            if !trial.has_ended {
                *trial.usd.get_or_insert(0.0) += usd;
                account.usd_under_way += usd;
            }
        }
    }

    /// Which cap is reached.
    pub fn capped(&self) -> Option<Capped> {
        let account = lock(&self.run.account);
        reached_cap(&self.run.caps, &account.totals, Some(account.usd), CapScope::Run)
    }

    /// What was spent so far.
    pub fn spent(&self) -> Totals {
        lock(&self.run.account).totals.clone()
    }

    /// The same in USD, as far as it is known.
    pub fn spent_usd(&self) -> f64 {
        lock(&self.run.account).usd
    }
}

impl Permit {
    /// What the trial charges.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Ends an attempt that is followed by another of the same trial: it is paid for, and says nothing of what trials cost.
    pub fn retry(&self) {
        self.end(false);
    }

    fn end(&self, is_last: bool) {
        let mut account = lock(&self.budget.run.account);
        let spent = self.budget.trial.as_ref().and_then(|trial| {
            let mut trial = lock(trial);
            trial.has_ended = is_last;
            trial.usd.take()
        });
        if let Some(spent) = spent {
            account.usd_under_way -= spent;
        }
        if is_last {
            account.under_way = account.under_way.saturating_sub(1);
            account.dearest =
                spent.map(|spent| account.dearest.unwrap_or(0.0).max(spent)).or(account.dearest);
        }
        if account.under_way == 0 {
            // Sums of floats do not always come to nothing.
            account.usd_under_way = 0.0;
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.end(true);
    }
}

/// Which cap is reached by what the provider counted: an estimate is too rough to end a trial or a run.
pub(crate) fn reached_cap(caps: &Caps, totals: &Totals, usd: Option<f64>, scope: CapScope) -> Option<Capped> {
    let tokens = totals.reported_tokens();
    let reached = |of, what: String| {
        Some(Capped { scope, of, reason: format!("the {}'s cap was reached: {what}", scope.word()) })
    };
    match caps {
        Caps { tokens: Some(most), .. } if tokens >= *most => {
            reached(CapKind::Tokens, format!("{tokens} of at most {most} tokens"))
        }
        Caps { requests: Some(most), .. } if totals.requests >= *most => {
            reached(CapKind::Requests, format!("{} of at most {most} requests", totals.requests))
        }
        Caps { usd: Some(most), .. } => match usd {
            Some(usd) if usd < *most => None,
            Some(usd) => reached(CapKind::Usd, format!("{usd:.4} of at most {most} USD")),
            None => reached(CapKind::Usd, "the cost in USD is unknown".to_owned()),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(most: f64) -> Budget {
        Budget::new(Caps { usd: Some(most), ..Caps::default() })
    }

    fn granted(budget: &Budget) -> Permit {
        match budget.start() {
            Start::Go(permit) => permit,
            other => panic!("{other:?}"),
        }
    }

    fn charge_cost(permit: &Permit, usd: f64) {
        permit.budget().charge(&Usage::default(), &Usage::default(), Some(usd));
    }

    #[test]
    fn the_cap_holds_while_several_are_under_way() {
        let budget = usd(1.0);
        let first = granted(&budget);
        // Nothing is known yet: the second waits for the first, also once that has begun to spend.
        assert!(matches!(budget.start(), Start::Wait));
        charge_cost(&first, 0.3);
        assert!(matches!(budget.start(), Start::Wait));
        drop(first);
        let (second, third) = (granted(&budget), granted(&budget));
        // .3 spent, two under way at .3 each: a third would come to 1.2. What they have spent by now is part of that.
        assert!(matches!(budget.start(), Start::Wait));
        charge_cost(&second, 0.2);
        charge_cost(&second, 0.1);
        charge_cost(&third, 0.2);
        assert!(matches!(budget.start(), Start::Wait));
        drop((second, third));
        // .8 spent: one more at .3 would pass 1.
        assert!(matches!(budget.start(), Start::Stop));
        assert!((budget.spent_usd() - 0.8).abs() < 1e-12);
        assert_eq!((budget.spent().requests, budget.capped()), (4, None));
    }

    #[test]
    fn a_retried_attempt_is_paid_for_and_sets_no_price() {
        let budget = usd(1.0);
        let trial = granted(&budget);
        charge_cost(&trial, 0.5);
        trial.retry();
        charge_cost(&trial, 0.1);
        drop(trial);
        // .6 spent, .1 a trial: four more fit.
        let more: Vec<Permit> = (0..3).map(|_| granted(&budget)).collect();
        assert!((budget.spent_usd() - 0.6).abs() < 1e-12);
        drop(more);
        assert!(matches!(budget.start(), Start::Go(_)));
    }

    #[test]
    fn a_late_charge_is_not_under_way() {
        let budget = usd(1.0);
        let first = granted(&budget);
        let late = first.budget().clone();
        charge_cost(&first, 0.1);
        drop(first);
        let second = granted(&budget);
        late.charge(&Usage::default(), &Usage::default(), Some(0.75));
        // .85 has been spent by trials that ended; one at .1 is under way, and another would pass 1.
        assert!(matches!(budget.start(), Start::Wait));
        drop(second);
        assert!((budget.spent_usd() - 0.85).abs() < 1e-12);
    }

    #[test]
    fn no_cap_holds_nobody_up() {
        let budget = Budget::default();
        let permits: Vec<Permit> = (0..100).map(|_| granted(&budget)).collect();
        assert_eq!(permits.len(), 100);
        assert!(matches!(usd(0.0).start(), Start::Stop));
    }
}
