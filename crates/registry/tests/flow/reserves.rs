//! Reservations: taken once, given back whenever the object is not written.

use std::collections::BTreeSet;
use std::sync::Mutex;

use pintle_registry::{Allocation, Reservation, Reserve};

use super::*;

/// Numbers, of which a thing gets the first that is free; `spec.number` names one.
#[derive(Clone, Default)]
struct Numbers(Arc<Mutex<BTreeSet<i64>>>);

struct Taken {
    from: Numbers,
    number: Option<i64>,
    given_up: Option<i64>,
}

fn number(thing: &Value) -> Option<i64> {
    thing.at(&["spec", "number"]).and_then(Value::as_i64)
}

impl Numbers {
    fn all(&self) -> Vec<i64> {
        self.0.lock().unwrap().iter().copied().collect()
    }

    fn take(&self, thing: &mut Value, options: WriteOptions) -> Result<Option<i64>> {
        let mut taken = self.0.lock().unwrap();
        let free = number(thing).or_else(|| (1..).find(|number| !taken.contains(number))).unwrap();
        if !options.dry_run && !taken.insert(free) {
            return Err(Box::new(Status::plain(format!("{free} is taken"))));
        }
        let spec = thing
            .as_object_mut()
            .unwrap()
            .get_or_insert_with("spec", || Value::object(pintle_meta::Object::default()));
        spec.as_object_mut().unwrap().insert("number", free);
        Ok((!options.dry_run).then_some(free))
    }
}

#[async_trait]
impl Reserve for Numbers {
    async fn on_create(&self, _: &Context, thing: &mut Value, options: WriteOptions) -> Result<Reservation> {
        let number = self.take(thing, options)?;
        Ok(Reservation::new(Box::new(Taken { from: self.clone(), number, given_up: None })))
    }

    async fn on_update(
        &self,
        _: &Context,
        new: &mut Value,
        old: &Value,
        options: WriteOptions,
    ) -> Result<Reservation> {
        if number(new) == number(old) {
            return Ok(Reservation::default());
        }
        let number_now = self.take(new, options)?;
        let given_up = number(old).filter(|_| !options.dry_run);
        Ok(Reservation::new(Box::new(Taken { from: self.clone(), number: number_now, given_up })))
    }

    async fn on_delete(&self, thing: &Value) {
        number(thing).map(|number| self.0.lock().unwrap().remove(&number));
    }
}

#[async_trait]
impl Allocation for Taken {
    async fn commit(self: Box<Self>) {
        self.given_up.map(|number| self.from.0.lock().unwrap().remove(&number));
    }

    async fn revert(self: Box<Self>) {
        self.number.map(|number| self.from.0.lock().unwrap().remove(&number));
    }
}

struct Refuse;

#[async_trait]
impl Admission for Refuse {
    async fn create(&self, _: &Value) -> Result<()> {
        Err(Box::new(Status::plain("no")))
    }

    async fn update(&self, _: &Value, _: &Value) -> Result<()> {
        Err(Box::new(Status::plain("no")))
    }

    async fn delete(&self, _: &Value, _: &DeleteOptions) -> Result<()> {
        Ok(())
    }
}

async fn numbered() -> (Store, Numbers, Fixture) {
    let fixture = fixture(Things { unconditional: true, create_on_update: true, ..Things::default() }).await;
    let numbers = Numbers::default();
    let things = fixture.things.with_strategy(fixture.things.config().strategy.clone());
    (things.reserving(Arc::new(numbers.clone())), numbers, fixture)
}

fn of(name: &str, spec: &str) -> Value {
    thing(&format!(r#"{{"metadata":{{"name":"{name}","namespace":"ns"}},"spec":{spec}}}"#))
}

fn context() -> Context {
    Context { namespace: "ns".into(), ..Context::default() }
}

#[tokio::test]
async fn a_failed_write_releases_its_reservation() {
    let (things, numbers, _fixture) = numbered().await;
    let (write, dry) = (WriteOptions::default(), WriteOptions { dry_run: true });
    let create = async |object: &Value, admission: &dyn Admission, options| {
        things.create(&mut context(), object, admission, options).await
    };
    let made = create(&of("a", "{}"), &AdmitAll, write).await.unwrap();
    assert_eq!((number(&made), numbers.all()), (Some(1), vec![1]));
    create(&of("a", "{}"), &AdmitAll, write).await.unwrap_err();
    create(&of("b", r#"{"size":-1}"#), &AdmitAll, write).await.unwrap_err();
    create(&of("b", "{}"), &Refuse, write).await.unwrap_err();
    let dry = create(&of("b", "{}"), &AdmitAll, dry).await.unwrap();
    assert_eq!((number(&dry), numbers.all()), (Some(2), vec![1]));
    assert!(create(&of("b", r#"{"number":1}"#), &AdmitAll, write).await.is_err());
    assert_eq!(numbers.all(), [1]);
}

#[tokio::test]
async fn a_change_gives_back_what_it_gave_up() {
    let (things, numbers, _fixture) = numbered().await;
    let update = async |object: &Value, admission: &dyn Admission| {
        let mut put = Put(object.clone());
        things.update(&mut context(), "a", &mut put, admission, false, WriteOptions::default()).await
    };
    assert!(update(&of("a", "{}"), &AdmitAll).await.unwrap().created);
    update(&of("a", r#"{"number":7}"#), &Refuse).await.unwrap_err();
    assert_eq!(numbers.all(), [1]);
    update(&of("a", r#"{"number":7}"#), &AdmitAll).await.unwrap();
    assert_eq!(numbers.all(), [7]);
}

#[tokio::test]
async fn a_deletion_releases_the_reservation() {
    let (things, numbers, _fixture) = numbered().await;
    for name in ["a", "b"] {
        let held = r#"{"metadata":{"name":"NAME","namespace":"ns","finalizers":["x/y"]},"spec":{}}"#;
        let object = if name == "a" { of(name, "{}") } else { thing(&held.replace("NAME", name)) };
        things.create(&mut context(), &object, &AdmitAll, WriteOptions::default()).await.unwrap();
    }
    let delete = async |name: &str, dry_run| {
        let options = DeleteOptions { dry_run, ..DeleteOptions::default() };
        things.delete(&context(), name, &AdmitAll, options).await.unwrap()
    };
    delete("a", true).await;
    assert_eq!(numbers.all(), [1, 2]);
    delete("a", false).await;
    assert!(!delete("b", false).await.is_gone());
    assert_eq!(numbers.all(), [2]);
    // The last finalizer goes by other rules, such as those of the status.
    let statuses = things.with_strategy(things.config().strategy.clone());
    let mut put = Put(of("b", r#"{"number":2}"#));
    statuses.update(&mut context(), "b", &mut put, &AdmitAll, false, WriteOptions::default()).await.unwrap();
    assert!(numbers.all().is_empty());
}

#[tokio::test]
async fn a_caller_dropped_before_the_write_leaves_nothing() {
    /// Never answers.
    struct Forever;

    #[async_trait]
    impl Admission for Forever {
        async fn create(&self, _: &Value) -> Result<()> {
            std::future::pending().await
        }

        async fn update(&self, _: &Value, _: &Value) -> Result<()> {
            Ok(())
        }

        async fn delete(&self, _: &Value, _: &DeleteOptions) -> Result<()> {
            Ok(())
        }
    }

    let (things, numbers, _fixture) = numbered().await;
    let (object, mut context) = (of("a", "{}"), context());
    let create = things.create(&mut context, &object, &Forever, WriteOptions::default());
    tokio::time::timeout(Duration::from_millis(20), create).await.unwrap_err();
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        if numbers.all().is_empty() {
            return;
        }
    }
    panic!("still held: {:?}", numbers.all());
}
