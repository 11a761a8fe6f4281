//! The statuses that clients get when the store fails.
//!
//! A store that cannot be reached is waited for until the request's time is up, and then the request is late, whatever it was
//! for. What comes here has failed before that: it is passed on in the store's own words, as something that nobody foresaw,
//! which is what the reference does.

use pintle_meta::Status;
use pintle_storage::Error;

/// How etcd begins its own refusals. Those who look after a cluster know them by heart.
const ETCD: &str = "etcdserver: ";

pub(crate) fn status(error: &Error) -> Status {
    match error {
        Error::Unavailable(words) | Error::NoSpace(words) if words.starts_with(ETCD) => Status::plain(words),
        Error::Unavailable(_) | Error::Closed | Error::Unreadable(_) => Status::plain(error),
        error => Status::internal(error),
    }
}

#[cfg(test)]
mod tests {
    use pintle_meta::Reason;

    use super::*;

    #[test]
    fn errors_of_the_store_are_passed_on() {
        let check = |error: Error, message: &str| {
            let status = status(&error);
            assert_eq!((status.code, status.reason, &*status.message), (500, Reason::Unknown, message));
            assert!(status.details.is_none(), "nobody is asked to come back at a certain time");
        };
        check(Error::Unavailable("etcdserver: permission denied".into()), "etcdserver: permission denied");
        let full = "etcdserver: mvcc: database space exceeded";
        check(Error::NoSpace(full.into()), full);
        check(Error::Unavailable("no disk".into()), "storage is unavailable: no disk");
        check(Error::Closed, "storage is closed");
        check(Error::Unreadable("odd".into()), "odd");
        assert_eq!(status(&Error::NoSpace("1 byte left".into())).reason, Reason::InternalError);
    }
}
