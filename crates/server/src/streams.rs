//! Runs the requests of an HTTP/2 connection.
//!
//! Each request is a task, so that many run at once. A watch is one too until it has nothing to do but to wait for the next
//! change. Then it moves into the task of its connection: a change that a hundred watches of a client see would else wake
//! a hundred tasks, on all cores, which take turns at the one connection that they all write to.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hyper::rt::Executor;
use pintle_cache::wake_last;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::unconstrained;

thread_local! {
    /// Set by a request that is being polled right now.
    static SETTLES: Cell<bool> = const { Cell::new(false) };
}

/// Says that the request that is being polled waits for something rare, and does little when it comes.
pub(crate) fn settle() {
    SETTLES.set(true);
}

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Starts requests.
#[derive(Clone)]
pub(crate) struct Starter(UnboundedSender<Running>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Starter {
    fn execute(&self, future: F) {
        tokio::spawn(Lively { running: Some(Box::pin(future)), settled: self.0.clone() });
    }
}

/// A request with a task of its own.
struct Lively {
    running: Option<Running>,
    settled: UnboundedSender<Running>,
}

impl Future for Lively {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(running) = &mut self.running else { return Poll::Ready(()) };
        SETTLES.set(false);
        if running.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        if SETTLES.take()
            && let Some(running) = self.running.take()
        {
            // If the connection has ended, there is no client to answer.
            let _ = self.settled.send(running);
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

/// The requests that run in the connection's task, at most as many as it has streams.
pub(crate) struct Settled {
    arriving: UnboundedReceiver<Running>,
    running: FuturesUnordered<Running>,
    /// How they wake the connection's task.
    waker: Option<(Arc<Last>, Waker)>,
}

/// Wakes the connection's task when all its requests that a change concerns have been woken. A request that is woken while
/// they run is polled in the same turn.
struct Last {
    task: Waker,
    /// [`TURN`] while they run, with [`AGAIN`] if one was woken since.
    state: AtomicU8,
}

const TURN: u8 = 1;
const AGAIN: u8 = 2;
/// How often one turn may go round. A request is woken by what it sends itself, once, and then waits.
const ROUNDS: usize = 1000;

impl Wake for Last {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.fetch_or(AGAIN, Ordering::AcqRel) & TURN == 0 {
            wake_last(&self.task);
        }
    }
}

impl Settled {
    pub(crate) fn new() -> (Starter, Settled) {
        let (sender, arriving) = unbounded_channel();
        (Starter(sender), Settled { arriving, running: FuturesUnordered::new(), waker: None })
    }

    fn waker(&mut self, task: &Waker) -> (Arc<Last>, Waker) {
        match &self.waker {
            Some(known) if known.0.task.will_wake(task) => known.clone(),
            _ => {
                let last = Arc::new(Last { task: task.clone(), state: AtomicU8::new(0) });
                let known = (last.clone(), Waker::from(last));
                self.waker.insert(known).clone()
            }
        }
    }

    /// Polls the requests that are ready.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(running)) = self.arriving.poll_recv(cx) {
            self.running.push(running);
        }
        if self.running.is_empty() {
            return;
        }
        let (last, waker) = self.waker(cx.waker());
        // Each does little, and there are few: they need not be stopped half way.
        let all = &mut self.running;
        let mut turn = unconstrained(std::future::poll_fn(|cx| {
            // The set stops for breath when two have woken themselves.
            for _ in 0..ROUNDS {
                last.state.store(TURN, Ordering::Release);
                while let Poll::Ready(Some(())) = all.poll_next_unpin(cx) {}
                if last.state.swap(0, Ordering::AcqRel) & AGAIN == 0 {
                    return Poll::<()>::Pending;
                }
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        let _ = Pin::new(&mut turn).poll(&mut Context::from_waker(&waker));
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use tokio::sync::Notify;

    use super::*;

    /// Waits for each word, and counts it; it may settle while it waits.
    async fn request(settles: bool, word: Arc<Notify>, here: Arc<AtomicUsize>, connection: tokio::task::Id) {
        loop {
            let mut told = Box::pin(word.notified());
            poll_fn(|cx| {
                let poll = told.as_mut().poll(cx);
                if poll.is_pending() && settles {
                    settle();
                }
                poll
            })
            .await;
            if tokio::task::try_id() == Some(connection) {
                here.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// How many of two words were heard by the task of the connection.
    async fn heard_by_the_connection(settles: bool) -> usize {
        let counting = async move {
            let (starter, mut settled) = Settled::new();
            let (word, here) = (Arc::new(Notify::new()), Arc::<AtomicUsize>::default());
            let connection = tokio::task::id();
            starter.execute(request(settles, word.clone(), here.clone(), connection));
            let says = tokio::spawn(async move {
                for _ in 0..2 {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    word.notify_one();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            });
            let mut says = Box::pin(says);
            poll_fn(|cx| {
                settled.poll(cx);
                says.as_mut().poll(cx)
            })
            .await
            .unwrap();
            here.load(Ordering::Relaxed)
        };
        tokio::spawn(counting).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_settles_runs_in_the_task_of_its_connection() {
        assert_eq!(heard_by_the_connection(true).await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn any_other_keeps_its_own_task() {
        assert_eq!(heard_by_the_connection(false).await, 0);
    }

    #[tokio::test]
    async fn what_has_settled_ends_with_its_connection() {
        let (starter, mut settled) = Settled::new();
        let held = Arc::new(());
        let request = {
            let held = held.clone();
            poll_fn(move |_| {
                let _ = &held;
                settle();
                Poll::<()>::Pending
            })
        };
        starter.execute(request);
        tokio::task::yield_now().await;
        poll_fn(|cx| {
            settled.poll(cx);
            Poll::Ready(())
        })
        .await;
        assert_eq!(Arc::strong_count(&held), 2);
        drop(settled);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    /// Streams of HTTP/2 wake themselves with what they send.
    #[tokio::test]
    async fn all_that_are_ready_run_in_one_turn() {
        let (starter, mut settled) = Settled::new();
        let ran = Arc::<AtomicUsize>::default();
        for _ in 0..100 {
            let ran = ran.clone();
            let mut polls = 0;
            starter.execute(poll_fn(move |cx| {
                polls += 1;
                match polls {
                    // As a task of its own, and then for the first time in the connection's.
                    1 => settle(),
                    2 => {
                        ran.fetch_add(1, Ordering::Relaxed);
                        cx.waker().wake_by_ref();
                    }
                    _ => {}
                }
                Poll::Pending
            }));
        }
        while settled.arriving.len() < 100 {
            tokio::task::yield_now().await;
        }
        poll_fn(|cx| {
            settled.poll(cx);
            Poll::Ready(())
        })
        .await;
        assert_eq!(ran.load(Ordering::Relaxed), 100);
    }
}
