//! Why an ID token is refused: one sentence each, which holds nothing of the token's text but names of claims.

/// Why an ID token is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Flaw {
    #[error("it is no signed JSON Web Token")]
    Malformed,
    #[error("it is not signed (`alg` is `none`)")]
    Unsigned,
    #[error("its algorithm is none of RS256, PS256, ES256 and EdDSA")]
    Algorithm,
    #[error("it is another kind of token than an ID token (`typ`), or needs extensions (`crit`)")]
    OtherKind,
    #[error("it is signed with a key that its issuer does not publish")]
    UnknownKey,
    #[error("its signature is not its issuer's")]
    BadSignature,
    #[error("its issuer (`iss`) is none of the tenant's")]
    OtherIssuer,
    #[error("it was issued for another audience (`aud` or `azp`)")]
    OtherAudience,
    #[error(
        "it expired {0} s ago (`exp`): get another one, or set the clock of the server if it is wrong"
    )]
    Expired(u64),
    #[error(
        "it is valid only in {0} s (`iat` or `nbf`): the clocks of its issuer and of this server differ, set them"
    )]
    Early(u64),
    #[error("it is {0} s old (`iat`), and a person signs in with a new one: sign in again")]
    Old(u64),
    #[error("it was not issued for this sign-in (`nonce`): sign in again")]
    OtherNonce,
    #[error("its issuer does not sign people in without a browser here, and it has no `nonce`")]
    NoNonce,
    #[error("its claim `{0}` is missing, or of another type")]
    Claim(String),
    #[error("its claim `{0}` is not what the server requires")]
    Required(String),
    #[error(
        "its claim `{0}` cannot name anybody: a name has at most 100 letters, digits and `._@+-`, and begins with no `@`"
    )]
    Name(String),
    #[error("it was exchanged before: get another one")]
    Used,
    #[error("its name belongs to somebody else in this tenant: ask whoever administers the server")]
    NameTaken,
}
