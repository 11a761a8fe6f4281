//! Runs the requests of an HTTP/2 connection.
//!
//! Each request starts as a task of its own ([`OwnTask`]), so that many run at once. A watch that only waits for the next
//! change is parked: it moves into the task of its connection ([`ParkedRequests`]). A change that a hundred watches of a
//! client see would else wake a hundred tasks, on all cores, which take turns at the one connection that they all write to.

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
    /// Set by the request that is polled on this thread.
    static PARKS: Cell<bool> = const { Cell::new(false) };
}

/// Parks the request that is polled on this thread: it waits for something rare, and does little when it comes.
pub(crate) fn park() {
    PARKS.set(true);
}

type RequestFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Starts every request as a task of its own.
#[derive(Clone)]
pub(crate) struct RequestExecutor(UnboundedSender<RequestFuture>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for RequestExecutor {
    fn execute(&self, future: F) {
        tokio::spawn(OwnTask { request: Some(Box::pin(future)), parked: self.0.clone() });
    }
}

/// A request with a task of its own, until it parks.
struct OwnTask {
    request: Option<RequestFuture>,
    parked: UnboundedSender<RequestFuture>,
}

impl Future for OwnTask {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(request) = &mut self.request else { return Poll::Ready(()) };
        PARKS.set(false);
        if request.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        if PARKS.take()
            && let Some(request) = self.request.take()
        {
            // If the connection has ended, there is no client to answer.
            let _ = self.parked.send(request);
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

/// The requests that run in the connection's task, at most as many as it has streams.
pub(crate) struct ParkedRequests {
    arriving: UnboundedReceiver<RequestFuture>,
    requests: FuturesUnordered<RequestFuture>,
    /// The waker of all requests, made for the connection's task.
    waker: Option<(Arc<ConnectionWaker>, Waker)>,
}

/// Wakes the connection's task after all its requests that a change concerns. A request that is woken during a turn is
/// polled in the same turn.
struct ConnectionWaker {
    task: Waker,
    /// [`TURN`] while the requests are polled, with [`AGAIN`] if one was woken since.
    state: AtomicU8,
}

const TURN: u8 = 1;
const AGAIN: u8 = 2;
/// Limit on the rounds of one turn. A request wakes itself once by sending, and then waits.
const ROUNDS: usize = 1000;

impl Wake for ConnectionWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.fetch_or(AGAIN, Ordering::AcqRel) & TURN == 0 {
            wake_last(&self.task);
        }
    }
}

impl ParkedRequests {
    pub(crate) fn new() -> (RequestExecutor, ParkedRequests) {
        let (sender, arriving) = unbounded_channel();
        (RequestExecutor(sender), ParkedRequests { arriving, requests: FuturesUnordered::new(), waker: None })
    }

    fn waker(&mut self, task: &Waker) -> (Arc<ConnectionWaker>, Waker) {
        match &self.waker {
            Some(known) if known.0.task.will_wake(task) => known.clone(),
            _ => {
                let shared = Arc::new(ConnectionWaker { task: task.clone(), state: AtomicU8::new(0) });
                let known = (shared.clone(), Waker::from(shared));
                self.waker.insert(known).clone()
            }
        }
    }

    /// Polls the requests that are ready.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(request)) = self.arriving.poll_recv(cx) {
            self.requests.push(request);
        }
        if self.requests.is_empty() {
            return;
        }
        let (shared, waker) = self.waker(cx.waker());
        // Unconstrained by the budget of the task: each request does little, and there are few.
        let requests = &mut self.requests;
        let mut turn = unconstrained(std::future::poll_fn(|cx| {
            // The set returns early when two of its futures have woken themselves.
            for _ in 0..ROUNDS {
                shared.state.store(TURN, Ordering::Release);
                while let Poll::Ready(Some(())) = requests.poll_next_unpin(cx) {}
                if shared.state.swap(0, Ordering::AcqRel) & AGAIN == 0 {
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

    use http_body_util::BodyExt;
    use tokio::sync::Notify;

    use super::*;
    use crate::Body;

    /// Waits for notifications, and counts those that it receives in the connection's task; parks while it waits if `parks`.
    async fn request(parks: bool, notify: Arc<Notify>, count: Arc<AtomicUsize>, connection: tokio::task::Id) {
        loop {
            let mut notified = Box::pin(notify.notified());
            poll_fn(|cx| {
                let poll = notified.as_mut().poll(cx);
                if poll.is_pending() && parks {
                    park();
                }
                poll
            })
            .await;
            if tokio::task::try_id() == Some(connection) {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Returns how many of two notifications a request received in the task of its connection.
    async fn received_in_the_connection_task(parks: bool) -> usize {
        let counting = async move {
            let (executor, mut parked) = ParkedRequests::new();
            let (notify, count) = (Arc::new(Notify::new()), Arc::<AtomicUsize>::default());
            let connection = tokio::task::id();
            executor.execute(request(parks, notify.clone(), count.clone(), connection));
            let notifier = tokio::spawn(async move {
                for _ in 0..2 {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    notify.notify_one();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            });
            let mut notifier = Box::pin(notifier);
            poll_fn(|cx| {
                parked.poll(cx);
                notifier.as_mut().poll(cx)
            })
            .await
            .unwrap();
            count.load(Ordering::Relaxed)
        };
        tokio::spawn(counting).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_parked_request_runs_in_the_task_of_its_connection() {
        assert_eq!(received_in_the_connection_task(true).await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_does_not_park_keeps_its_own_task() {
        assert_eq!(received_in_the_connection_task(false).await, 0);
    }

    #[tokio::test]
    async fn parked_requests_end_with_their_connection() {
        let (executor, mut parked) = ParkedRequests::new();
        let held = Arc::new(());
        let request = {
            let held = held.clone();
            poll_fn(move |_| {
                let _ = &held;
                park();
                Poll::<()>::Pending
            })
        };
        executor.execute(request);
        tokio::task::yield_now().await;
        poll_fn(|cx| {
            parked.poll(cx);
            Poll::Ready(())
        })
        .await;
        assert_eq!(Arc::strong_count(&held), 2);
        drop(parked);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    /// Streams of HTTP/2 wake themselves with what they send.
    #[tokio::test]
    async fn all_ready_requests_run_in_one_turn() {
        let (executor, mut parked) = ParkedRequests::new();
        let ran = Arc::<AtomicUsize>::default();
        for _ in 0..100 {
            let ran = ran.clone();
            let mut polls = 0;
            executor.execute(poll_fn(move |cx| {
                polls += 1;
                match polls {
                    // As a task of its own, and then for the first time in the connection's.
                    1 => park(),
                    2 => {
                        ran.fetch_add(1, Ordering::Relaxed);
                        cx.waker().wake_by_ref();
                    }
                    _ => {}
                }
                Poll::Pending
            }));
        }
        while parked.arriving.len() < 100 {
            tokio::task::yield_now().await;
        }
        poll_fn(|cx| {
            parked.poll(cx);
            Poll::Ready(())
        })
        .await;
        assert_eq!(ran.load(Ordering::Relaxed), 100);
    }

    #[tokio::test]
    async fn a_panic_in_the_body_of_a_parked_request_does_not_end_its_connection() {
        let (executor, mut parked) = ParkedRequests::new();
        let mut polls = 0;
        let mut body = Body::stream(futures_util::stream::poll_fn(move |cx| {
            polls += 1;
            assert!(polls == 1, "on purpose");
            park();
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        let ended = Arc::<AtomicUsize>::default();
        let count = ended.clone();
        executor.execute(async move {
            let is_error = body.frame().await.is_some_and(|frame| frame.is_err());
            count.fetch_add(usize::from(is_error), Ordering::Relaxed);
        });
        while parked.arriving.is_empty() {
            tokio::task::yield_now().await;
        }
        poll_fn(|cx| {
            parked.poll(cx);
            Poll::Ready(())
        })
        .await;
        assert_eq!((ended.load(Ordering::Relaxed), parked.requests.len()), (1, 0));
    }
}
