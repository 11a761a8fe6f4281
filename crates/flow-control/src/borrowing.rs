//! Borrowing: every ten seconds, seats move from levels that do not use them to levels that could.
//!
//! A level's demand is what its requests occupy and wait for, smoothed so that a peak is remembered for minutes. Each level gets the
//! same fraction of its demand, as far as its bounds allow: no less than what it does not lend (or what it uses of its own seats), and
//! no more than its own seats with what it may borrow.

use std::sync::Arc;

use crate::integrator::Demand;
use crate::level::Level;
use crate::metrics::Metrics;
use crate::spec::Response;

/// Decay of the smoothed demand: half of it is forgotten in five minutes.
const SMOOTHING: f64 = 0.977;
/// The smallest demand, since levels get fractions of it.
const LEAST_TARGET: f64 = 0.001;
const TOLERANCE: f64 = 1e-7;

/// The demand of a level for seats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SeatDemand {
    pub(crate) average: f64,
    pub(crate) deviation: f64,
    pub(crate) highest: usize,
    pub(crate) smoothed: f64,
    pub(crate) target: f64,
}

impl SeatDemand {
    fn update(&mut self, period: Demand) {
        self.highest = period.highest.round() as usize;
        if period.seconds <= 0.0 {
            return;
        }
        (self.average, self.deviation) = (period.average, period.deviation);
        let envelope = period.average + period.deviation;
        self.smoothed = envelope.max(SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * envelope);
    }
}

/// The demand of one level and the bounds of what it may get.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Claim {
    least: f64,
    most: f64,
    target: f64,
}

/// Divides seats among levels by their demand since the last call. `nominal`: the sum of their nominal seats; `server`: the seats of
/// the server.
pub(crate) fn adjust<'l>(
    levels: impl Iterator<Item = &'l Arc<Level>>,
    nominal: usize,
    server: usize,
    metrics: &Metrics,
    now: u64,
) {
    let mut claims: Vec<(&Arc<Level>, usize, usize, Claim)> = Vec::new();
    let mut remaining = nominal as i64;
    for level in levels {
        let (is_exempt, seats, highest, smoothed) = level.with(|state| {
            let period = state.set.take_demand(now);
            state.demand.update(period);
            (state.response == Response::Exempt, state.seats, state.demand.highest, state.demand.smoothed)
        });
        if is_exempt {
            let current = seats.least.max(highest);
            remaining -= current as i64;
            level.with(|state| {
                state.demand.target = current as f64;
                state.set_current(current, server, now);
            });
            continue;
        }
        let least = seats.least.max(seats.nominal.min(highest));
        let claim =
            Claim { least: least as f64, most: seats.most as f64, target: smoothed.max(least as f64) };
        claims.push((level, seats.least, least, claim));
    }
    let guaranteed: i64 = claims.iter().map(|(_, guaranteed, ..)| *guaranteed as i64).sum();
    let used: i64 = claims.iter().map(|(_, _, least, _)| *least as i64).sum();
    let mut fraction = 0.0;
    let currents: Vec<f64> = if remaining <= guaranteed {
        claims.iter().map(|(_, guaranteed, ..)| *guaranteed as f64).collect()
    } else if remaining <= used {
        let share = (remaining - guaranteed) as f64 / (used - guaranteed) as f64;
        let of = |guaranteed: usize, least: usize| {
            guaranteed as f64 + ((least - guaranteed) as f64 * share).round()
        };
        claims.iter().map(|(_, guaranteed, least, _)| of(*guaranteed, *least)).collect()
    } else {
        let bare: Vec<Claim> = claims.iter().map(|(.., claim)| *claim).collect();
        match divide(nominal as f64, &bare) {
            Some((currents, fair)) => {
                fraction = fair;
                currents
            }
            None => claims.iter().map(|(level, ..)| level.with(|state| state.seats.current) as f64).collect(),
        }
    };
    metrics.fair_fraction(fraction);
    for ((level, _, _, claim), current) in claims.iter().zip(currents) {
        level.with(|state| {
            state.demand.target = claim.target;
            state.set_current(current.round() as usize, server, now);
        });
    }
}

/// Divides `sum` so that each claim gets the same fraction of its target, or the bound that keeps it from that. Returns the parts
/// and the fraction; none where the bounds make it impossible.
///
/// The parts grow with the fraction, so the right one lies between two bounds: they are tried in ascending order.
fn divide(sum: f64, claims: &[Claim]) -> Option<(Vec<f64>, f64)> {
    let claims: Vec<Claim> =
        claims.iter().map(|claim| Claim { target: claim.target.max(LEAST_TARGET), ..*claim }).collect();
    let total = |of: fn(&Claim) -> f64| claims.iter().map(of).sum::<f64>();
    let is_sound = claims.iter().all(|claim| claim.least <= claim.most && claim.least <= claim.target);
    if !is_sound
        || total(|claim| claim.least) > sum + TOLERANCE
        || total(|claim| claim.most) < sum - TOLERANCE
    {
        return None;
    }
    let parts = |fraction: f64| -> Vec<f64> {
        claims.iter().map(|claim| (fraction * claim.target).clamp(claim.least, claim.most)).collect()
    };
    let mut bounds: Vec<f64> =
        claims.iter().flat_map(|claim| [claim.least / claim.target, claim.most / claim.target]).collect();
    bounds.sort_by(f64::total_cmp);
    let mut fraction = bounds.first().copied()?;
    let mut reached: f64 = parts(fraction).iter().sum();
    for bound in bounds {
        let at_bound: f64 = parts(bound).iter().sum();
        if at_bound >= sum {
            // In between, the sum grows evenly.
            let rise = at_bound - reached;
            if rise > 0.0 {
                fraction += (bound - fraction) * ((sum - reached) / rise).clamp(0.0, 1.0);
            }
            return Some((parts(fraction), fraction));
        }
        (fraction, reached) = (bound, at_bound);
    }
    Some((parts(fraction), fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(least: f64, most: f64, target: f64) -> Claim {
        Claim { least, most, target }
    }

    fn divided(sum: f64, claims: &[Claim]) -> Vec<f64> {
        let (parts, fraction) = divide(sum, claims).unwrap();
        assert!((parts.iter().sum::<f64>() - sum).abs() < 1e-6, "{parts:?}");
        for (part, claim) in parts.iter().zip(claims) {
            let fair = fraction * claim.target.max(LEAST_TARGET);
            let is_fair = (part - fair).abs() < 1e-6
                || (*part == claim.least && fair <= claim.least + 1e-6)
                || (*part == claim.most && fair >= claim.most - 1e-6);
            assert!(is_fair, "{part} {claim:?} {fraction}");
        }
        parts
    }

    #[test]
    fn levels_get_the_same_fraction_of_their_demand() {
        assert_eq!(divided(6.0, &[claim(0.0, 9.0, 1.0), claim(0.0, 9.0, 2.0)]), [2.0, 4.0]);
        assert_eq!(divided(6.0, &[claim(3.0, 9.0, 3.0), claim(0.0, 9.0, 9.0)]), [3.0, 3.0]);
        assert_eq!(divided(9.0, &[claim(0.0, 2.0, 5.0), claim(0.0, 9.0, 5.0)]), [2.0, 7.0]);
        assert_eq!(divided(4.0, &[claim(0.0, 9.0, 0.0), claim(0.0, 9.0, 0.0)]), [2.0, 2.0]);
        assert_eq!(divide(1.0, &[claim(2.0, 9.0, 5.0)]), None);
        assert_eq!(divide(10.0, &[claim(2.0, 9.0, 5.0)]), None);
    }

    #[test]
    fn random_claims_are_divided_fairly() {
        use rand::{Rng, SeedableRng};
        let mut random = rand::rngs::StdRng::seed_from_u64(7);
        for _ in 0..2000 {
            let claims: Vec<Claim> = (0..random.random_range(1..9))
                .map(|_| {
                    let least = f64::from(random.random_range(0..20));
                    let most = least + f64::from(random.random_range(0..50));
                    claim(least, most, least.max(0.001) + random.random_range(0.0..60.0))
                })
                .collect();
            let (low, high): (f64, f64) =
                (claims.iter().map(|claim| claim.least).sum(), claims.iter().map(|claim| claim.most).sum());
            divided(low + (high - low) * random.random_range(0.0..=1.0), &claims);
        }
    }

    #[test]
    fn demand_is_remembered_for_minutes() {
        let mut demand = SeatDemand::default();
        let period = |average| Demand { seconds: 10.0, average, deviation: 0.0, highest: average };
        demand.update(period(100.0));
        assert_eq!(demand.smoothed, 100.0, "it rises at once");
        for _ in 0..30 {
            demand.update(period(0.0));
        }
        assert!(
            (45.0..55.0).contains(&demand.smoothed),
            "half of it after five minutes: {}",
            demand.smoothed
        );
    }
}
