//! The budget of a run: one account for all of its trials, whichever model route they use.
//!
//! It enforces two bounds. Each request is refused once a cap is reached: that is exact, but the
//! trials under way are lost. And a trial is [admitted](Budget::admit) only if its likely cost is
//! left, which is that of the most expensive trial so far.

use std::sync::{Arc, Mutex};

use assay_trace::Usage;

use crate::ledger::{CapKind, CapScope, Capped, Exchange, Totals};
use crate::limits::Caps;
use crate::reserve::{Ceiling, UnderWay, is_reached};
use crate::sync::lock;

/// The budget of a run. Clones share the account. Usage reported by providers counts against a cap, and in USD
/// the estimates of complete replies without one; unknown costs count as zero.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    run: Arc<Run>,
    /// The trial that is charged as well.
    trial: Option<Arc<Mutex<TrialAccount>>>,
    /// The account that decides, if other processes share it, and the trial's permit there.
    shared: Option<(Arc<dyn SharedBudget>, Option<u64>)>,
}

/// An account that several processes share. Implementations do not block for long: what they cannot
/// report yet, they report later.
pub trait SharedBudget: std::fmt::Debug + Send + Sync {
    /// As [`Budget::admit`].
    fn admit(&self) -> SharedAdmission;

    /// As [`Budget::charge`], for the trial of a permit.
    fn charge(&self, permit: Option<u64>, tokens: &Usage, estimated: &Usage, usd: Option<f64>);

    /// As [`Budget::reserve`], with the number of the reservation.
    fn reserve(&self, ceiling: Ceiling) -> SharedTurn;

    /// Ends a reservation; `used` is what its request used, if that is known.
    fn release(&self, reservation: u64, used: Option<Ceiling>);

    /// A trial has ended, or an attempt that is retried.
    fn end(&self, permit: u64, is_last: bool);

    /// As [`Budget::capped`].
    fn capped(&self) -> Option<Capped>;
}

/// As [`Admission`], with the number of the permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedAdmission {
    /// The trial may start.
    Granted(u64),
    /// Not yet.
    Deferred,
    /// The budget is spent.
    Exhausted,
}

/// As [`Turn`], with the number of the reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharedTurn {
    /// The request may be sent.
    Granted(u64),
    /// Not yet.
    Deferred,
    /// The cap that is reached.
    Capped(Capped),
}

/// Whether a request may be sent.
#[derive(Debug)]
pub enum Turn {
    /// It may be sent. What it may use is set aside until this is dropped.
    Granted(Reservation),
    /// Not before another request has ended.
    Deferred,
    /// The cap that is reached.
    Capped(Capped),
}

/// What a request under way may use, set aside.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    ceiling: Ceiling,
    /// Its number in a shared account.
    shared: Option<u64>,
    used: Option<Ceiling>,
    /// Whether its request is in the totals.
    is_counted: bool,
}

impl Reservation {
    /// What the request used, by which later ceilings are corrected.
    pub fn set_used(&mut self, used: Ceiling) {
        self.used = Some(used);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let (Some((shared, _)), Some(number)) = (&self.budget.shared, self.shared) {
            return shared.release(number, self.used);
        }
        let mut account = lock(&self.budget.run.account);
        account.requests.end(self.ceiling, self.used);
        if !self.is_counted {
            account.uncounted = account.uncounted.saturating_sub(1);
        }
    }
}

#[derive(Debug, Default)]
struct TrialAccount {
    /// In USD, by the current attempt, as far as known.
    usd: Option<f64>,
    /// Whether the trial has ended: later charges count for the run only.
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
    /// In USD, as far as known.
    usd: f64,
    /// The part of `usd` that was spent by trials under way.
    usd_under_way: f64,
    under_way: usize,
    /// The cost of the most expensive trial so far.
    most_expensive: Option<f64>,
    /// Requests under way.
    requests: UnderWay,
    /// Those of them that are not yet in the totals.
    uncounted: u64,
}

impl Account {
    /// Whether another trial would exceed a cap in USD, even after those under way have ended.
    fn is_exhausted(&self, most: f64) -> bool {
        let ended = self.usd - self.usd_under_way;
        is_reached(ended, most) || ended + self.most_expensive.unwrap_or(0.0) > most
    }
}

/// Whether another trial may start.
#[derive(Debug)]
pub enum Admission {
    /// It may start.
    Granted(Permit),
    /// Not before a running trial has ended.
    Deferred,
    /// The budget is spent.
    Exhausted,
}

/// A running trial. Its cost is known when this is dropped.
#[derive(Debug)]
pub struct Permit {
    budget: Budget,
}

impl Budget {
    /// A budget of which nothing is spent.
    pub fn new(caps: Caps) -> Self {
        Self { run: Arc::new(Run { caps, account: Mutex::default() }), ..Self::default() }
    }

    /// A budget of several processes. What is spent here is counted as well.
    pub fn shared(account: Arc<dyn SharedBudget>) -> Self {
        Self { shared: Some((account, None)), ..Self::default() }
    }

    /// Requests the start of another trial. The first runs alone, because the cost of a trial is
    /// unknown before it has ended.
    pub fn admit(&self) -> Admission {
        if let Some((shared, _)) = &self.shared {
            return match shared.admit() {
                SharedAdmission::Granted(permit) => {
                    let shared = Some((Arc::clone(shared), Some(permit)));
                    Admission::Granted(Permit { budget: Self { shared, ..self.clone() } })
                }
                SharedAdmission::Deferred => Admission::Deferred,
                SharedAdmission::Exhausted => Admission::Exhausted,
            };
        }
        let mut account = lock(&self.run.account);
        if let Some(most) = self.run.caps.usd {
            if account.is_exhausted(most) {
                return Admission::Exhausted;
            }
            let each = account.most_expensive.unwrap_or(0.0);
            let ended = account.usd - account.usd_under_way;
            let unknown = account.most_expensive.is_none() && account.under_way > 0;
            if unknown || ended + each * (account.under_way as f64 + 1.0) > most {
                return Admission::Deferred;
            }
        }
        account.under_way += 1;
        drop(account);
        Admission::Granted(self.permit())
    }

    fn permit(&self) -> Permit {
        Permit { budget: Self { trial: Some(Arc::default()), ..self.clone() } }
    }

    /// A trial that is under way already.
    pub(crate) fn adopt(&self) -> Permit {
        lock(&self.run.account).under_way += 1;
        self.permit()
    }

    /// Sets aside what a request may use, if it fits into the caps beside the requests under way. Of requests that
    /// wait for each other, one is always granted: below a cap, at most one request exceeds it.
    pub fn reserve(&self, ceiling: Ceiling) -> Turn {
        let granted = |shared| {
            Turn::Granted(Reservation {
                budget: self.clone(),
                ceiling,
                shared,
                used: None,
                is_counted: false,
            })
        };
        if let Some((shared, _)) = &self.shared {
            return match shared.reserve(ceiling) {
                SharedTurn::Granted(number) => granted(Some(number)),
                SharedTurn::Deferred => Turn::Deferred,
                SharedTurn::Capped(capped) => Turn::Capped(capped),
            };
        }
        let caps = &self.run.caps;
        let mut account = lock(&self.run.account);
        if let Some(capped) = reached_cap(caps, &account.totals, Some(account.usd), CapScope::Run) {
            return Turn::Capped(capped);
        }
        // Others that were granted may still be given back.
        if caps.requests.is_some_and(|most| account.totals.requests + account.uncounted >= most) {
            return Turn::Deferred;
        }
        let (tokens, usd) = (account.totals.reported_tokens(), account.usd);
        let fits = account.requests.admit(caps, tokens, usd, ceiling);
        account.uncounted += u64::from(fits);
        drop(account);
        if fits { granted(None) } else { Turn::Deferred }
    }

    /// Whether no other trial can start, even after those under way have ended.
    pub(crate) fn is_exhausted(&self) -> bool {
        let account = lock(&self.run.account);
        let usd = self.run.caps.usd.is_some_and(|most| account.is_exhausted(most));
        usd || reached_cap(&self.run.caps, &account.totals, Some(account.usd), CapScope::Run).is_some()
    }

    /// Counts a request that an agent sent to its model without the gateway: its tokens, how many
    /// of them are an estimate, and their cost.
    pub fn charge(&self, tokens: &Usage, estimated: &Usage, usd: Option<f64>) {
        if let Some((shared, permit)) = &self.shared {
            shared.charge(*permit, tokens, estimated, usd);
        }
        let mut account = lock(&self.run.account);
        account.totals.requests += 1;
        account.totals.tokens += *tokens;
        account.totals.estimated += u64::from(estimated.total() > 0);
        account.totals.estimated_tokens += *estimated;
        self.add_cost(&mut account, usd);
    }

    /// Counts an admitted request, with what is set aside for it.
    pub(crate) fn begin(&self, reservation: Option<&mut Reservation>) {
        let mut account = lock(&self.run.account);
        account.totals.requests += 1;
        if let Some(reservation) = reservation.filter(|reservation| !reservation.is_counted) {
            reservation.is_counted = true;
            account.uncounted = account.uncounted.saturating_sub(1);
        }
    }

    /// Records what the exchange cost.
    pub(crate) fn finish(&self, exchange: &Exchange) {
        let usd = exchange.counted_usd();
        if let Some((shared, permit)) = &self.shared {
            let tokens = exchange.tokens.unwrap_or_default();
            shared.charge(*permit, &tokens, &exchange.estimated_tokens, usd);
        }
        let mut account = lock(&self.run.account);
        account.totals.add(exchange);
        self.add_cost(&mut account, usd);
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

    /// The cap that is reached, if any.
    pub fn capped(&self) -> Option<Capped> {
        if let Some((shared, _)) = &self.shared {
            return shared.capped();
        }
        let account = lock(&self.run.account);
        reached_cap(&self.run.caps, &account.totals, Some(account.usd), CapScope::Run)
    }

    /// Its caps; those of a shared budget are with the account.
    pub fn caps(&self) -> Caps {
        self.run.caps
    }

    /// The totals so far.
    pub fn spent(&self) -> Totals {
        lock(&self.run.account).totals.clone()
    }

    /// The cost so far in USD, as far as known.
    pub fn spent_usd(&self) -> f64 {
        lock(&self.run.account).usd
    }
}

impl Permit {
    /// The budget that the trial is charged to.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Ends an attempt that is retried: it is charged, but does not count as the cost of a trial.
    pub fn retry(&self) {
        self.end(false);
    }

    fn end(&self, is_last: bool) {
        if let Some((shared, Some(permit))) = &self.budget.shared {
            return shared.end(*permit, is_last);
        }
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
            account.most_expensive = spent
                .map(|spent| account.most_expensive.unwrap_or(0.0).max(spent))
                .or(account.most_expensive);
        }
        if account.under_way == 0 {
            // Sums of floats can be off by a rounding error.
            account.usd_under_way = 0.0;
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.end(true);
    }
}

/// The cap that is reached, if any. Of tokens, only reported ones count: an estimate is too rough to end a trial or a run.
pub(crate) fn reached_cap(caps: &Caps, totals: &Totals, usd: Option<f64>, scope: CapScope) -> Option<Capped> {
    let tokens = totals.reported_tokens();
    let reached = |of, what: String| {
        Some(Capped { scope, of, reason: format!("the {}'s cap was reached: {what}", scope.word()) })
    };
    match caps {
        Caps { tokens: Some(most), .. } if tokens >= *most => {
            reached(CapKind::Tokens, format!("{tokens} tokens (cap: {most})"))
        }
        Caps { requests: Some(most), .. } if totals.requests >= *most => {
            reached(CapKind::Requests, format!("{} requests (cap: {most})", totals.requests))
        }
        Caps { usd: Some(most), .. } => match usd {
            Some(usd) if !is_reached(usd, *most) => None,
            Some(usd) => reached(CapKind::Usd, format!("{usd:.4} USD (cap: {most})")),
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
        match budget.admit() {
            Admission::Granted(permit) => permit,
            other => panic!("{other:?}"),
        }
    }

    fn charge_cost(permit: &Permit, usd: f64) {
        permit.budget().charge(&Usage::default(), &Usage::default(), Some(usd));
    }

    #[test]
    fn cap_limits_concurrent_trials() {
        let budget = usd(1.0);
        let first = granted(&budget);
        // The cost is unknown: the second waits for the first, even after that has begun to spend.
        assert!(matches!(budget.admit(), Admission::Deferred));
        charge_cost(&first, 0.3);
        assert!(matches!(budget.admit(), Admission::Deferred));
        drop(first);
        let (second, third) = (granted(&budget), granted(&budget));
        // 0.3 spent, two under way at 0.3 each: a third would make 1.2. Their spending so far is
        // included.
        assert!(matches!(budget.admit(), Admission::Deferred));
        charge_cost(&second, 0.2);
        charge_cost(&second, 0.1);
        charge_cost(&third, 0.2);
        assert!(matches!(budget.admit(), Admission::Deferred));
        drop((second, third));
        // 0.8 spent: one more at 0.3 would exceed 1.
        assert!(matches!(budget.admit(), Admission::Exhausted));
        assert!((budget.spent_usd() - 0.8).abs() < 1e-12);
        assert_eq!((budget.spent().requests, budget.capped()), (4, None));
    }

    fn reserve(budget: &Budget) -> Result<Reservation, bool> {
        match budget.reserve(Ceiling { tokens: 1, usd: 0.0 }) {
            Turn::Granted(reservation) => Ok(reservation),
            Turn::Deferred => Err(false),
            Turn::Capped(_) => Err(true),
        }
    }

    /// Granted requests count before they have begun: what sends two at once checks the cap twice before either is
    /// in the totals.
    #[test]
    fn granted_requests_count_against_a_cap_before_they_begin() {
        let budget = Budget::new(Caps { requests: Some(2), ..Caps::default() });
        let (first, mut second) = (reserve(&budget).unwrap(), reserve(&budget).unwrap());
        assert!(!reserve(&budget).unwrap_err());
        // Given back: another takes its turn.
        drop(first);
        let mut third = reserve(&budget).unwrap();
        for reservation in [&mut second, &mut third] {
            assert!(!reserve(&budget).unwrap_err());
            budget.begin(Some(reservation));
        }
        assert!(reserve(&budget).unwrap_err());
        drop((second, third));
        assert!(reserve(&budget).unwrap_err());
        assert_eq!(budget.spent().requests, 2);
    }

    #[test]
    fn retried_attempt_is_charged_without_setting_the_trial_cost() {
        let budget = usd(1.0);
        let trial = granted(&budget);
        charge_cost(&trial, 0.5);
        trial.retry();
        charge_cost(&trial, 0.1);
        drop(trial);
        // 0.6 spent, 0.1 per trial: four more fit.
        let more: Vec<Permit> = (0..3).map(|_| granted(&budget)).collect();
        assert!((budget.spent_usd() - 0.6).abs() < 1e-12);
        drop(more);
        assert!(matches!(budget.admit(), Admission::Granted(_)));
    }

    #[test]
    fn late_charge_is_not_under_way() {
        let budget = usd(1.0);
        let first = granted(&budget);
        let late = first.budget().clone();
        charge_cost(&first, 0.1);
        drop(first);
        let second = granted(&budget);
        late.charge(&Usage::default(), &Usage::default(), Some(0.75));
        // 0.85 was spent by trials that ended; one at 0.1 is under way, and another would exceed 1.
        assert!(matches!(budget.admit(), Admission::Deferred));
        drop(second);
        assert!((budget.spent_usd() - 0.85).abs() < 1e-12);
    }

    #[test]
    fn trials_start_freely_without_a_cap() {
        let budget = Budget::default();
        let permits: Vec<Permit> = (0..100).map(|_| granted(&budget)).collect();
        assert_eq!(permits.len(), 100);
        assert!(matches!(usd(0.0).admit(), Admission::Exhausted));
    }
}
