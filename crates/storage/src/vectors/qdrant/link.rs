//! The line to a Qdrant server: one HTTP/2 connection, dialed when it is first needed and again when it is gone.
//!
//! Every call of ours may be made twice (points are put under ids that we choose, what is deleted stays deleted), so
//! a fault that may pass is met by asking again, a few times with growing pauses. What does not pass is
//! [`Error::Unavailable`], an answer that says no is [`Error::Refused`].
//!
//! The generated stubs of `qdrant-client` are used without its `Qdrant`: that one shows the key in a message when
//! it does not like it, hides a refused connection behind "internal error", and prints.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use qdrant_client::qdrant::collections_client::CollectionsClient;
use qdrant_client::qdrant::points_client::PointsClient;
use qdrant_client::qdrant::{
    ChangeAliases, CollectionExistsRequest, CollectionExistsResponse, CollectionOperationResponse,
    CountPoints, CountResponse, CreateCollection, CreateFieldIndexCollection, DeleteCollection,
    DeletePoints, FacetCounts, FacetResponse, GetCollectionInfoRequest, GetCollectionInfoResponse,
    GetPoints, GetResponse, ListAliasesResponse, ListCollectionAliasesRequest,
    ListCollectionsRequest, ListCollectionsResponse, PointsOperationResponse, QueryPoints,
    QueryResponse, ScrollPoints, ScrollResponse, UpsertPoints,
};
use tokio::time::{sleep, timeout};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Response, Status};

use super::super::{Error, Result, Server};

/// How long one attempt may take, and how often another one follows.
#[derive(Debug, Clone, Copy)]
struct Patience {
    attempt: Duration,
    retries: u32,
}

const WORK: Patience = Patience { attempt: Duration::from_secs(10), retries: 3 };
/// Who asks whether the server is there wants to know now.
const PING: Patience = Patience { attempt: Duration::from_secs(2), retries: 0 };

const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// How much longer each pause is than the one before.
const GROWTH: u32 = 3;

const DIALING: Duration = Duration::from_secs(2);
/// A connection that is quiet for so long is asked for a sign of life, and given up without one; otherwise calls
/// would go on vanishing in it when the other end has gone without a word.
const QUIET: Duration = Duration::from_secs(10);
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

pub(super) struct Link {
    endpoint: Endpoint,
    /// Made by the first call: a channel wants a runtime under it.
    channel: OnceLock<Channel>,
    key: Option<MetadataValue<Ascii>>,
    address: String,
}

/// Why a call came to nothing.
#[derive(Debug)]
pub(super) enum Failure {
    /// The collection is not there.
    Missing(String),
    /// It is there already.
    Exists(String),
    Other(Error),
}

pub(super) type Answer<T> = std::result::Result<T, Failure>;

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Missing(message) | Failure::Exists(message) => Self::Refused(message),
            Failure::Other(error) => error,
        }
    }
}

/// What a status says about asking again.
enum Sorted {
    Final(Failure),
    MayPass(String),
}

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident: $client:ident.$method:ident($question:ty) -> $answer:ty, $patience:ident;)+) => {
        impl Link {
            $($(#[$doc])*
            pub(super) async fn $name(&self, question: $question) -> Answer<$answer> {
                self.ask($patience, &question, |channel, request| async move {
                    // A page with its vectors is larger than the library's limit.
                    $client::new(channel).max_decoding_message_size(usize::MAX).$method(request).await
                })
                .await
            })+
        }
    };
}

calls! {
    upsert: PointsClient.upsert(UpsertPoints) -> PointsOperationResponse, WORK;
    delete: PointsClient.delete(DeletePoints) -> PointsOperationResponse, WORK;
    get: PointsClient.get(GetPoints) -> GetResponse, WORK;
    scroll: PointsClient.scroll(ScrollPoints) -> ScrollResponse, WORK;
    query: PointsClient.query(QueryPoints) -> QueryResponse, WORK;
    count: PointsClient.count(CountPoints) -> CountResponse, WORK;
    facet: PointsClient.facet(FacetCounts) -> FacetResponse, WORK;
    index: PointsClient.create_field_index(CreateFieldIndexCollection) -> PointsOperationResponse, WORK;
    describe: CollectionsClient.get(GetCollectionInfoRequest) -> GetCollectionInfoResponse, WORK;
    list: CollectionsClient.list(ListCollectionsRequest) -> ListCollectionsResponse, WORK;
    create: CollectionsClient.create(CreateCollection) -> CollectionOperationResponse, WORK;
    drop_collection: CollectionsClient.delete(DeleteCollection) -> CollectionOperationResponse, WORK;
    change_aliases: CollectionsClient.update_aliases(ChangeAliases) -> CollectionOperationResponse, WORK;
    aliases: CollectionsClient.list_collection_aliases(ListCollectionAliasesRequest) -> ListAliasesResponse, WORK;
    /// The smallest question that needs the key; the server's health check is answered to anybody.
    ping: CollectionsClient.collection_exists(CollectionExistsRequest) -> CollectionExistsResponse, PING;
}

impl Link {
    /// Only the address and the key are checked.
    pub(super) fn new(server: &Server) -> Result<Self> {
        let wrong =
            || Error::Invalid("the address of Qdrant is not an http or https URL".to_owned());
        let mut endpoint = Endpoint::from_shared(server.url.clone()).map_err(|_| wrong())?;
        let uri = endpoint.uri();
        let (Some(scheme), Some(host)) = (uri.scheme_str(), uri.host()) else {
            return Err(wrong());
        };
        let address = match uri.port_u16() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        match scheme {
            "http" => {}
            "https" => {
                let roots = ClientTlsConfig::new().with_native_roots();
                endpoint = endpoint.tls_config(roots).map_err(|_| wrong())?;
            }
            _ => return Err(wrong()),
        }
        let endpoint = endpoint
            .connect_timeout(DIALING)
            .http2_keep_alive_interval(QUIET)
            .keep_alive_timeout(SIGN_OF_LIFE)
            .keep_alive_while_idle(true);
        let key = server.api_key.as_deref().map(header).transpose()?;
        Ok(Self { endpoint, channel: OnceLock::new(), key, address })
    }

    async fn ask<Q, A, F>(
        &self,
        patience: Patience,
        question: &Q,
        call: impl Fn(Channel, Request<Q>) -> F,
    ) -> Answer<A>
    where
        Q: Clone,
        F: Future<Output = std::result::Result<Response<A>, Status>>,
    {
        let (mut attempts, mut pause) = (0, FIRST_PAUSE);
        loop {
            let channel = self.channel.get_or_init(|| self.endpoint.connect_lazy()).clone();
            let answer = timeout(patience.attempt, call(channel, self.request(question))).await;
            let why = match answer {
                Ok(Ok(answer)) => return Ok(answer.into_inner()),
                Ok(Err(status)) => match self.sort(&status) {
                    Sorted::Final(failure) => return Err(failure),
                    Sorted::MayPass(why) => why,
                },
                Err(_) => format!("no answer within {} s", patience.attempt.as_secs()),
            };
            if attempts == patience.retries {
                let message = format!("Qdrant at {}: {why}", self.address);
                return Err(Failure::Other(Error::Unavailable(message)));
            }
            tracing::debug!(address = self.address, why, "asking Qdrant again");
            attempts += 1;
            sleep(pause).await;
            pause *= GROWTH;
        }
    }

    fn request<Q: Clone>(&self, question: &Q) -> Request<Q> {
        let mut request = Request::new(question.clone());
        if let Some(key) = &self.key {
            request.metadata_mut().insert("api-key", key.clone());
        }
        request
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "gRPC's codes are many, and all others say no"
    )]
    fn sort(&self, status: &Status) -> Sorted {
        // A status with a source was made on this side, by a connection that failed.
        if let Some(source) = std::error::Error::source(status) {
            return Sorted::MayPass(innermost(source));
        }
        let message = self.without_key(status.message());
        match status.code() {
            Code::NotFound => Sorted::Final(Failure::Missing(message)),
            Code::AlreadyExists => Sorted::Final(Failure::Exists(message)),
            // The last is what a limit on requests says.
            Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Cancelled
            | Code::ResourceExhausted => Sorted::MayPass(message),
            _ => Sorted::Final(Failure::Other(Error::Refused(message))),
        }
    }

    /// No server should repeat the key; if one does, it goes no further.
    fn without_key(&self, message: &str) -> String {
        match self.key.as_ref().and_then(|key| key.to_str().ok()) {
            Some(key) if !key.is_empty() => message.replace(key, "…"),
            _ => message.to_owned(),
        }
    }
}

/// Says where the server is, and never with which key.
impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("address", &self.address).finish_non_exhaustive()
    }
}

fn header(key: &str) -> Result<MetadataValue<Ascii>> {
    let mut value: MetadataValue<Ascii> = key.parse().map_err(|_| {
        Error::Invalid("the key of Qdrant has characters that no key has".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// "transport error" says nothing; what is inside it does: "Connection refused".
fn innermost(mut error: &(dyn std::error::Error + 'static)) -> String {
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
