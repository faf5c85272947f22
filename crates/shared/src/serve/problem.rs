//! Errors of the server: a status, a stable code and one sentence. They name no place, user or token.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use interlock_store::StoreError;
use serde::Serialize;

use crate::error::SharedError;
use interlock_fleet::{ErrorBody, ErrorLine};

/// An error response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
        }
    }

    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// An answer to something that is not asked, or not in this way.
    pub(crate) fn standing(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "no_answer", message)
    }

    pub(crate) fn role(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden_role", message)
    }

    /// Answers for a run that the tenant does not have, whoever else has it.
    pub(crate) fn no_run() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "there is no such run: `GET /v1/runs` lists the runs of the token's tenant",
        )
    }

    pub(crate) fn busy(what: &str) -> Self {
        Self::unavailable(
            "busy",
            &format!("{what}: nothing was recorded; try again with the same key"),
        )
    }

    pub(crate) fn unavailable(code: &'static str, message: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    /// Answers for a failure that is this server's own.
    pub(crate) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "failed",
            "the server failed, and its log says why: send the request again with the same key",
        )
    }
}

impl From<&SharedError> for Problem {
    fn from(error: &SharedError) -> Self {
        let away = |code, message: &str| Self::unavailable(code, message);
        match error {
            SharedError::NoRun { .. } => Self::no_run(),
            SharedError::NoTenant { .. } => Self::new(
                StatusCode::NOT_FOUND,
                "unknown_tenant",
                "the tenant does not exist any more: ask whoever administers the server",
            ),
            SharedError::StaleEpoch { current, held, .. } => Self::new(
                StatusCode::CONFLICT,
                "stale_epoch",
                format!(
                    "the run was taken over (epoch {current}, not {held}): nothing was recorded; end what is running"
                ),
            ),
            SharedError::OtherCommand { .. } => Self::new(
                StatusCode::CONFLICT,
                "key_reused",
                "the key was used for another request: nothing was recorded; give each request its own key",
            ),
            SharedError::BadPeople { .. } => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "policy_invalid",
                error.to_string(),
            ),
            SharedError::OneRun => Self::role(error.to_string()),
            SharedError::OtherPeople { .. } => {
                Self::new(StatusCode::CONFLICT, "moved", error.to_string())
            }
            SharedError::Away { .. } => away(
                "database_away",
                "the database cannot be reached: nothing was recorded; try again with the same key",
            ),
            SharedError::Unanswered { .. } => away(
                "unanswered",
                "the database did not answer in time, and may have recorded the request: send it again with the same key",
            ),
            SharedError::Busy { .. } => Self::busy("the database is busy"),
            SharedError::Full { .. } => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "database_full",
                "the database has no room left: nothing was recorded; free some space there",
            ),
            SharedError::ReadOnly { .. } => away(
                "database_read_only",
                "the database is read-only: nothing was recorded; connect the server to the primary",
            ),
            SharedError::Older { .. } => away(
                "database_older",
                "the log has an older format than this server: run `interlock shared migrate`",
            ),
            SharedError::Newer { .. } => away(
                "database_newer",
                "the log has a newer format than this server: update the server",
            ),
            SharedError::NotMade { .. } | SharedError::NoDatabase { .. } => away(
                "database_empty",
                "the database has no log: make it with `interlock shared init`",
            ),
            SharedError::ClockOff { .. } => away(
                "clock_off",
                "the clocks of the server and of the database differ by more than a minute: set them",
            ),
            SharedError::Refused { .. }
            | SharedError::Forbidden { .. }
            | SharedError::NotHeld { .. } => away(
                "database_refuses",
                "the database refuses the server's user: nothing was recorded",
            ),
            _ => Self::internal(),
        }
    }
}

impl From<SharedError> for Problem {
    fn from(error: SharedError) -> Self {
        let problem = Self::from(&error);
        report(&problem, &error);
        problem
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let shared = match &error {
            StoreError::Elsewhere(error) => error.downcast_ref::<SharedError>(),
            _ => None,
        };
        let problem = match (&error, shared) {
            (_, Some(shared)) => Self::from(shared),
            (StoreError::BadRunId { .. }, _) => Self::no_run(),
            (StoreError::BadName { .. } | StoreError::Unwritable { .. }, _) => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "unwritable",
                "the request cannot be recorded: shorten it, and leave out control characters",
            ),
            (StoreError::Damaged { .. } | StoreError::Diverged { .. }, _) => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "damaged",
                "the log of the run is damaged: `interlock shared verify` names the first wrong event",
            ),
            _ => Self::internal(),
        };
        report(&problem, &error);
        problem
    }
}

/// Writes what the person who runs the server has to know; a client is told less.
pub(super) fn report(problem: &Problem, error: &dyn std::error::Error) {
    use std::io::Write as _;
    if problem.status.is_server_error() {
        let line = interlock_core::visible::visible_lines(&error.to_string()).replace('\n', " ");
        let _ = writeln!(std::io::stderr(), "interlock: {}: {line}", problem.code);
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = ErrorBody {
            error: ErrorLine {
                code: self.code.to_owned(),
                message: self.message,
            },
        };
        let mut response = json(&body).unwrap_or_else(|_| Response::new(Body::empty()));
        *response.status_mut() = self.status;
        if self.status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
}

/// Responds with a value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<Response, Problem> {
    let bytes = serde_json::to_vec(value).map_err(|_| Problem::internal())?;
    Ok(json_bytes(bytes))
}

/// Responds with JSON text.
pub(crate) fn json_bytes(bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
