//! The orders that were taken lately, so that none is done twice.

use std::collections::{HashMap, VecDeque};

use artel_domain::OrderId;

use crate::wire::{Done, Failure};

/// Servers post again within seconds; so many orders are remembered.
const REMEMBERED: usize = 20_000;

pub(super) type Outcome = Result<Done, Failure>;

#[derive(Debug, Default)]
pub(super) struct Known {
    orders: HashMap<OrderId, Option<Outcome>>,
    /// Those that were done, oldest first. What is still at work is not forgotten.
    done: VecDeque<OrderId>,
}

/// What is known of an order.
#[derive(Debug)]
pub(super) enum Seen {
    New,
    AtWork,
    Done(Outcome),
}

impl Known {
    /// From now on it is known.
    pub(super) fn take(&mut self, order: OrderId) -> Seen {
        match self.orders.get(&order) {
            Some(Some(outcome)) => Seen::Done(outcome.clone()),
            Some(None) => Seen::AtWork,
            None => {
                self.orders.insert(order, None);
                Seen::New
            }
        }
    }

    pub(super) fn done(&mut self, order: OrderId, outcome: Outcome) {
        if let Some(None) = self.orders.insert(order, Some(outcome)) {
            self.done.push_back(order);
        }
        while self.done.len() > REMEMBERED {
            if let Some(oldest) = self.done.pop_front() {
                self.orders.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use artel_domain::SystemClock;

    use super::*;

    /// CA-6.1: an order that comes again is not done again, and is answered as before.
    #[test]
    fn an_order_is_done_once() {
        let mut known = Known::default();
        let order = OrderId::new(&SystemClock);
        assert!(matches!(known.take(order), Seen::New));
        assert!(matches!(known.take(order), Seen::AtWork));
        known.done(order, Err(Failure::Unknown));
        assert!(matches!(known.take(order), Seen::Done(Err(Failure::Unknown))));
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let mut known = Known::default();
        let at_work = OrderId::new(&SystemClock);
        known.take(at_work);
        for _ in 0..REMEMBERED + 10 {
            let order = OrderId::new(&SystemClock);
            known.take(order);
            known.done(order, Ok(Done::Yes));
        }
        assert_eq!(known.orders.len(), REMEMBERED + 1);
        assert!(matches!(known.take(at_work), Seen::AtWork));
    }
}
