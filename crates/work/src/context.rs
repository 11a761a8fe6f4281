//! The request that the current thread polls, and the budget of the function that it runs.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use pintle_runtime::Clock;

use crate::token::{Interrupted, Token};

/// How long a function may run on a thread of the runtime before its request is moved.
const INLINE: Duration = Duration::from_millis(2);

/// How many calls of [`check`] share one look at the clock.
const CHECKS: u32 = 64;

/// Where the request that is being polled runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PollLocation {
    /// No request is polled, or its executor cannot move it.
    Elsewhere,
    /// On a thread of the runtime. `asked`: it wants to be moved.
    Inline { asked: bool },
    /// On the pool.
    Aside,
}

/// The end of the function that [`run`] runs.
#[derive(Clone, Debug)]
enum Limit {
    /// It goes on elsewhere after this.
    Until(Instant),
    Token(Arc<Token>),
}

thread_local! {
    static PLACE: Cell<PollLocation> = const { Cell::new(PollLocation::Elsewhere) };
    /// The token of the request that is polled aside.
    static TOKEN: RefCell<Option<Arc<Token>>> = const { RefCell::new(None) };
    /// Zero: nothing is limited.
    static LEFT: Cell<u32> = const { Cell::new(0) };
    static LIMIT: RefCell<Option<Limit>> = const { RefCell::new(None) };
}

/// Unwinds out of a function that was too long for a thread of the runtime.
struct TooLong;

/// Whether a request that was polled wants to be moved to the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved(pub bool);

/// Puts back what a thread had before, also when the work unwinds.
struct Restore<F: FnMut()>(F);

impl<F: FnMut()> Drop for Restore<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Polls a request on a thread of the runtime, and says whether it is to be moved before it is polled again.
pub fn polled_inline<T>(poll: impl FnOnce() -> T) -> (T, Moved) {
    let before = PLACE.replace(PollLocation::Inline { asked: false });
    let _restore = Restore(|| PLACE.set(before));
    let polled = poll();
    let asked = PLACE.get() == PollLocation::Inline { asked: true };
    (polled, Moved(asked))
}

/// Polls a request on the pool. Panics pass through.
///
/// Errors: the work was ended by `token`.
pub fn polled_aside<T>(token: &Arc<Token>, poll: impl FnOnce() -> T) -> Result<T, Interrupted> {
    let before = PLACE.replace(PollLocation::Aside);
    let token_before = TOKEN.replace(Some(token.clone()));
    let _restore = Restore(|| {
        PLACE.set(before);
        TOKEN.set(token_before.clone());
    });
    catch_unwind(AssertUnwindSafe(poll)).map_err(|payload| match payload.downcast::<Interrupted>() {
        Ok(interrupted) => *interrupted,
        Err(panic) => resume_unwind(panic),
    })
}

/// Moves the current request to the pool if `size` bytes of input are too many for a thread of the runtime. Returns once it
/// runs there, or at once.
pub async fn aside(size: usize) {
    if size > crate::SMALL {
        moved().await;
    }
}

async fn moved() {
    poll_fn(|cx| match PLACE.get() {
        PollLocation::Inline { .. } => {
            PLACE.set(PollLocation::Inline { asked: true });
            // A future that is polled among others is polled again only if it was woken.
            cx.waker().wake_by_ref();
            Poll::Pending
        }
        PollLocation::Aside | PollLocation::Elsewhere => Poll::Ready(()),
    })
    .await;
}

/// Runs a function that may take long. It may be run twice: on a thread of the runtime it is given a short time first. So it
/// changes nothing but its own result.
pub async fn run<T>(mut work: impl FnMut() -> T) -> T {
    if let PollLocation::Inline { .. } = PLACE.get() {
        match limited(Limit::Until(Clock::system().instant() + INLINE), &mut work) {
            Some(done) => return done,
            None => moved().await,
        }
    }
    match TOKEN.with_borrow(Clone::clone) {
        // Only a limit of the first kind is caught here.
        Some(token) => limited(Limit::Token(token), &mut work).expect("the work was not moved"),
        None => work(),
    }
}

/// `None`: the time is over.
fn limited<T>(limit: Limit, work: &mut impl FnMut() -> T) -> Option<T> {
    let before = (LEFT.replace(CHECKS), LIMIT.replace(Some(limit)));
    let _restore = Restore(|| {
        LEFT.set(before.0);
        LIMIT.set(before.1.clone());
    });
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => Some(done),
        Err(payload) if payload.is::<TooLong>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// Runs a function that waits for another program, such as a webhook. The wait counts neither as work of the function that
/// [`run`] runs nor, on the pool, as use of a thread, and is not ended.
pub fn wait<T>(waiting: impl FnOnce() -> T) -> T {
    let place = PLACE.replace(PollLocation::Elsewhere);
    let (left, limit) = (LEFT.replace(0), LIMIT.take());
    let token = TOKEN.with_borrow(Clone::clone);
    let begun = Clock::system().instant();
    let _restore = Restore(|| {
        let limit = match &limit {
            Some(Limit::Until(end)) => Some(Limit::Until(*end + begun.elapsed())),
            limit => limit.clone(),
        };
        LIMIT.set(limit);
        LEFT.set(left);
        PLACE.set(place);
    });
    let _pause = token.as_deref().map(Token::pause);
    waiting()
}

/// Ends the function that [`run`] runs if its time is over. To be called in every loop whose length a client decides; it costs
/// a nanosecond or two.
#[inline]
pub fn check() {
    let left = LEFT.get();
    if left > 1 {
        LEFT.set(left - 1);
    } else if left == 1 {
        look();
    }
}

/// Like [`check`], with a look at the clock at once. To be called before a step that takes long by itself, such as a match of
/// a pattern.
#[inline]
pub fn check_now() {
    if LEFT.get() > 0 {
        look();
    }
}

#[cold]
fn look() {
    LEFT.set(CHECKS);
    // The borrow ends before anything unwinds.
    let limit = LIMIT.with_borrow(Clone::clone);
    match limit {
        Some(Limit::Until(end)) if Clock::system().instant() >= end => resume_unwind(Box::new(TooLong)),
        Some(Limit::Token(token)) if token.is_over() => resume_unwind(Box::new(Interrupted)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    /// Checks until it is ended, or far too long.
    fn endless() -> u64 {
        let begun = Instant::now();
        let mut rounds = 0;
        while begun.elapsed() < Duration::from_secs(10) {
            check();
            rounds += 1;
        }
        rounds
    }

    fn polled<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn short_work_stays_where_it_is() {
        let mut work = pin!(async {
            aside(crate::SMALL).await;
            run(|| 5).await
        });
        assert_eq!(polled_inline(|| polled(work.as_mut())), (Poll::Ready(5), Moved(false)));
    }

    #[test]
    fn large_input_moves_a_request_before_its_work_begins() {
        let begun = Cell::new(false);
        let mut work = pin!(async {
            aside(crate::SMALL + 1).await;
            begun.set(true);
        });
        assert_eq!(polled_inline(|| polled(work.as_mut())), (Poll::Pending, Moved(true)));
        // As long as it is not moved, it does not go on.
        assert_eq!(polled_inline(|| polled(work.as_mut())), (Poll::Pending, Moved(true)));
        let token = Arc::new(Token::new(None));
        assert_eq!(polled_aside(&token, || polled(work.as_mut())), Ok(Poll::Ready(())));
        assert!(begun.get());
    }

    #[test]
    fn work_that_turns_out_to_be_long_is_moved_and_begun_anew() {
        let times = Cell::new(0);
        let mut work = pin!(run(|| {
            times.set(times.get() + 1);
            if times.get() == 1 { endless() } else { 0 }
        }));
        let begun = Instant::now();
        assert_eq!(polled_inline(|| polled(work.as_mut())), (Poll::Pending, Moved(true)));
        assert!(begun.elapsed() < Duration::from_secs(5));
        let token = Arc::new(Token::new(None));
        assert_eq!(polled_aside(&token, || polled(work.as_mut())), Ok(Poll::Ready(0)));
        assert_eq!(times.get(), 2);
    }

    #[test]
    fn work_on_the_pool_ends_at_its_deadline_or_when_it_is_cancelled() {
        let at_deadline = Arc::new(Token::new(Some(Instant::now() + Duration::from_millis(5))));
        let cancelled = Arc::new(Token::new(None));
        cancelled.cancel();
        for token in [at_deadline, cancelled] {
            let mut work = pin!(run(endless));
            assert_eq!(polled_aside(&token, || polled(work.as_mut())), Err(Interrupted));
            check();
            assert_eq!(LEFT.get(), 0, "nothing is limited afterwards");
        }
    }

    #[test]
    fn few_long_steps_are_ended_as_many_short_ones_are() {
        let token = Arc::new(Token::new(None));
        token.cancel();
        let steps = Cell::new(0);
        let mut work = pin!(run(|| {
            check_now();
            steps.set(steps.get() + 1);
        }));
        assert_eq!(polled_aside(&token, || polled(work.as_mut())), Err(Interrupted));
        assert_eq!(steps.get(), 0);
        check_now();
    }

    #[test]
    fn only_work_that_was_handed_over_is_ended() {
        let token = Arc::new(Token::new(None));
        token.cancel();
        let counted = polled_aside(&token, || {
            (0..10 * CHECKS).for_each(|_| check());
            7
        });
        assert_eq!(counted, Ok(7));
    }

    #[test]
    fn elsewhere_nothing_is_moved_or_ended() {
        let mut work = pin!(async {
            aside(usize::MAX).await;
            run(|| (0..10 * CHECKS).for_each(|_| check())).await;
        });
        assert!(polled(work.as_mut()).is_ready());
    }

    #[test]
    fn a_wait_is_no_work() {
        let times = Cell::new(0);
        let mut work = pin!(run(|| {
            times.set(times.get() + 1);
            wait(|| {
                std::thread::sleep(2 * INLINE);
                (0..10 * CHECKS).for_each(|_| check());
            });
            (0..10 * CHECKS).for_each(|_| check());
        }));
        assert_eq!(polled_inline(|| polled(work.as_mut())), (Poll::Ready(()), Moved(false)));
        assert_eq!(times.get(), 1);
    }

    #[test]
    fn the_pool_is_told_of_a_wait() {
        let (token, told) = (Arc::new(Token::new(None)), Arc::new(std::sync::Mutex::new(Vec::new())));
        let record = told.clone();
        token.on_wait(move |waits| record.lock().unwrap().push(waits));
        assert_eq!(polled_aside(&token, || wait(|| told.lock().unwrap().clone())), Ok(vec![true]));
        assert_eq!(*told.lock().unwrap(), [true, false]);
    }

    #[test]
    fn a_panic_passes_through() {
        let token = Arc::new(Token::new(None));
        let mut work = pin!(run(|| if token.is_cancelled() { 1 } else { panic!("a bug") }));
        let caught = catch_unwind(AssertUnwindSafe(|| polled_aside(&token, || polled(work.as_mut()))));
        assert!(caught.is_err());
        assert_eq!(PLACE.get(), PollLocation::Elsewhere);
        assert_eq!(LEFT.get(), 0);
    }
}
