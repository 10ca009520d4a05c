//! Asking again when a service had a bad moment (PF-1.6).
//!
//! Only a fault that passes is worth it, and only while nothing was handed out: what a reader has seen cannot be taken
//! back. Pauses grow and are drawn at random up to that length, so that agents that failed together do not come back
//! together; what the service asked for is waited out in full, up to a limit of ours.

use std::fmt;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::time::sleep;

use super::chat::{ChatModel, Error, Piece, Request};

/// How often and how patiently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    pub retries: u32,
    /// The first pause is at most this; each one after may be twice as long.
    pub pause: Duration,
    pub longest_pause: Duration,
    /// The most that is waited because the service asked for it.
    pub longest_wait: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            retries: 3,
            pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(20),
            longest_wait: Duration::from_mins(1),
        }
    }
}

/// Where chance comes from: draws a pause between nothing and what it is given.
pub type Jitter = dyn Fn(Duration) -> Duration + Send + Sync;

/// Full jitter, for everything but tests.
pub fn chance(most: Duration) -> Duration {
    most.mul_f64(fastrand::f64())
}

/// A try that failed and will be repeated, for whoever shows or logs it.
#[derive(Debug, Clone)]
pub struct Failed {
    /// Counts from 1.
    pub attempt: u32,
    pub error: Error,
    /// How long it is before the next.
    pub pause: Duration,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attempt, error, pause } = self;
        write!(f, "{error}; try {} in {:.1} s", attempt + 1, pause.as_secs_f64())
    }
}

/// Asks until the first piece is there, an error lasts, or the tries are used up. Then the last error is returned as it
/// is: [`Error::Quota`] stays what it says.
pub async fn ask_with_retries(
    model: &dyn ChatModel,
    request: &Request,
    policy: &Policy,
    jitter: &Jitter,
    failed: impl FnMut(Failed) + Send,
) -> Result<BoxStream<'static, Result<Piece, Error>>, Error> {
    with_retries(|| first_piece(model, request), policy, jitter, failed).await
}

/// Tries until it is done, an error lasts, or the tries are used up.
pub(crate) async fn with_retries<T, F: Future<Output = Result<T, Error>> + Send>(
    mut again: impl FnMut() -> F + Send,
    policy: &Policy,
    jitter: &Jitter,
    mut failed: impl FnMut(Failed) + Send,
) -> Result<T, Error> {
    let mut attempt = 1;
    loop {
        let error = match again().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        if !error.is_passing() || attempt > policy.retries {
            return Err(error);
        }
        let pause = pause(&error, attempt, policy, jitter);
        failed(Failed { attempt, error, pause });
        sleep(pause).await;
        attempt += 1;
    }
}

/// Asks and waits for the first piece, so that an error before it can still be made good.
async fn first_piece(
    model: &dyn ChatModel,
    request: &Request,
) -> Result<BoxStream<'static, Result<Piece, Error>>, Error> {
    let mut pieces = model.ask(request.clone()).await?;
    let first = pieces.next().await.unwrap_or_else(|| Err(Error::Cut("no answer".to_owned())))?;
    Ok(stream::once(async { Ok(first) }).chain(pieces).boxed())
}

fn pause(error: &Error, attempt: u32, policy: &Policy, jitter: &Jitter) -> Duration {
    let most = policy.pause.saturating_mul(2_u32.saturating_pow(attempt - 1));
    let drawn = jitter(most.min(policy.longest_pause));
    match error.retry_after() {
        // On top of what was asked, or all who were told the same would come at the same moment.
        Some(asked) => asked.saturating_add(drawn).min(policy.longest_wait),
        None => drawn,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use async_trait::async_trait;
    use tokio::time::Instant;

    use super::super::chat::{Message, Stop, Usage};
    use super::*;

    type Planned = Result<Vec<Result<Piece, Error>>, Error>;

    #[derive(Debug)]
    struct Played(Mutex<VecDeque<Planned>>);

    #[async_trait]
    impl ChatModel for Played {
        async fn ask(
            &self,
            _request: Request,
        ) -> Result<BoxStream<'static, Result<Piece, Error>>, Error> {
            let next = self.0.lock().unwrap().pop_front().expect("asked more often than planned");
            next.map(|pieces| stream::iter(pieces).boxed())
        }
    }

    fn request() -> Request {
        Request {
            model: "m".to_owned(),
            system: String::new(),
            messages: vec![Message::User("hello".to_owned())],
            tools: Vec::new(),
            must_call: None,
            temperature: 0.0,
            max_tokens: 1,
            first_piece: Duration::from_secs(1),
            silence: Duration::from_secs(1),
        }
    }

    fn busy(seconds: Option<u64>) -> Error {
        Error::Busy { status: 429, retry_after: seconds.map(Duration::from_secs) }
    }

    fn good() -> Vec<Result<Piece, Error>> {
        let end = Piece::End { stop: Stop::Done, usage: Usage::default() };
        vec![Ok(Piece::Text("hi".to_owned())), Ok(end)]
    }

    /// What came, how long it took, how many tries failed, and how many answers were left unasked.
    async fn play(script: Vec<Planned>) -> (Planned, u64, u32, usize) {
        let model = Played(Mutex::new(script.into()));
        let start = Instant::now();
        let mut failed = 0;
        let policy = Policy::default();
        // The longest pause that chance could draw.
        let pieces =
            ask_with_retries(&model, &request(), &policy, &|most| most, |_| failed += 1).await;
        let pieces = match pieces {
            Ok(pieces) => Ok(pieces.collect().await),
            Err(error) => Err(error),
        };
        let left = model.0.lock().unwrap().len();
        (pieces, start.elapsed().as_secs(), failed, left)
    }

    /// PF-1.6: up to three retries, with pauses of 1, 2 and 4 seconds at most.
    #[tokio::test(start_paused = true)]
    async fn passing_faults_are_tried_again_with_growing_pauses() {
        let script = vec![
            Err(busy(None)),
            Err(Error::Timeout),
            Ok(vec![Err(Error::Cut("early".to_owned()))]),
            Ok(good()),
        ];
        let (pieces, seconds, failed, left) = play(script).await;
        assert_eq!(pieces.unwrap().len(), 2);
        assert_eq!((seconds, failed, left), (7, 3, 0));
    }

    /// PF-1.6: after the third retry the error stands.
    #[tokio::test(start_paused = true)]
    async fn the_tries_are_counted() {
        let script = (0..9).map(|_| Err(busy(None))).collect();
        let (pieces, seconds, failed, left) = play(script).await;
        assert!(matches!(pieces, Err(Error::Busy { .. })));
        assert_eq!((seconds, failed, left), (7, 3, 5));
    }

    /// PF-1.6: `Retry-After` is waited out, and bounded.
    #[tokio::test(start_paused = true)]
    async fn what_the_service_asks_for_is_waited_out() {
        let (pieces, seconds, ..) = play(vec![Err(busy(Some(30))), Ok(good())]).await;
        assert!(pieces.is_ok());
        assert_eq!(seconds, 31);
        let (pieces, seconds, ..) = play(vec![Err(busy(Some(86_400))), Ok(good())]).await;
        assert!(pieces.is_ok());
        assert_eq!(seconds, 60);
    }

    /// PF-1.6: a lasting fault fails at once, and a used-up quota keeps its reset time.
    #[tokio::test(start_paused = true)]
    async fn lasting_faults_fail_at_once() {
        let reset_after = Some(Duration::from_hours(1));
        for lasting in [
            Error::Quota { message: "used up".to_owned(), reset_after },
            Error::Unauthorised,
            Error::Refused { status: 400, message: String::new() },
            Error::Malformed(String::new()),
        ] {
            let told = lasting.to_string();
            let (pieces, seconds, failed, left) = play(vec![Err(lasting), Ok(good())]).await;
            let error = pieces.unwrap_err();
            assert_eq!(error.to_string(), told);
            assert_eq!((seconds, failed, left), (0, 0, 1));
            if let Error::Quota { reset_after: kept, .. } = error {
                assert_eq!(kept, reset_after);
            }
        }
    }

    /// What was handed out is not asked for again.
    #[tokio::test(start_paused = true)]
    async fn nothing_is_repeated_after_the_first_piece() {
        let broken = vec![Ok(Piece::Text("half".to_owned())), Err(Error::Cut("late".to_owned()))];
        let (pieces, _, failed, left) = play(vec![Ok(broken), Ok(good())]).await;
        let pieces = pieces.unwrap();
        assert!(matches!(pieces[..], [Ok(Piece::Text(_)), Err(Error::Cut(_))]));
        assert_eq!((failed, left), (0, 1));
    }

    /// It runs in tasks of the engine.
    #[tokio::test]
    async fn the_future_can_move_between_threads() {
        fn moves<T: Send>(future: T) -> T {
            future
        }
        let model = Played(Mutex::new(VecDeque::from([Ok(good())])));
        let policy = Policy::default();
        let request = request();
        let asking = moves(ask_with_retries(&model, &request, &policy, &chance, |_| {}));
        assert!(asking.await.is_ok());
    }

    #[test]
    fn chance_stays_within_its_bounds() {
        let most = Duration::from_secs(8);
        assert!((0..100).all(|_| chance(most) <= most));
    }
}
