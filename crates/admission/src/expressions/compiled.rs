//! Compiled expressions of policies and match conditions.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pintle_cel::{
    AdmissionVariables, Environment, Nesting, PolicyVariables, Program, Type, admission, variable_type,
};
use pintle_meta::Value;

/// The deepest nesting of an expression with the variables that it reads, and those that these read. One expression alone can
/// be this deep; evaluation of more would need a larger stack than threads have.
const DEEPEST: usize = 250;

/// Nesting that reading a variable adds.
const READ_DEPTH: usize = 4;

/// Number of kept expressions after which those that are no longer in use are dropped.
const SWEEP_AFTER: usize = 1024;

/// The name of the variable that has the variables of a policy as its fields.
pub(crate) const VARIABLES: &str = "variables";

/// The type of result that an expression must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wanted {
    Anything,
    Bool,
    Text,
    TextOrNull,
    /// `Object{...}`, with the types that mutations are made of.
    ApplyConfiguration,
    /// A list of `JSONPatch{...}`, with the same types.
    JsonPatch,
}

impl Wanted {
    fn types(self) -> Vec<Type> {
        match self {
            Wanted::Anything => vec![],
            Wanted::Bool => vec![Type::Bool],
            Wanted::Text => vec![Type::String],
            Wanted::TextOrNull => vec![Type::String, Type::Null],
            Wanted::ApplyConfiguration => vec![Type::apply_configuration()],
            Wanted::JsonPatch => vec![Type::list(Type::json_patch())],
        }
    }

    fn is_mutation(self) -> bool {
        matches!(self, Wanted::ApplyConfiguration | Wanted::JsonPatch)
    }
}

/// Inputs that an expression reads and that cost something to prepare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    pub(crate) request: bool,
    pub(crate) namespace: bool,
    pub(crate) authorizer: bool,
}

impl Uses {
    pub(crate) fn or(self, other: Uses) -> Uses {
        Uses {
            request: self.request || other.request,
            namespace: self.namespace || other.namespace,
            authorizer: self.authorizer || other.authorizer,
        }
    }
}

/// An expression, compiled or with the reason why it cannot be.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) text: Arc<str>,
    pub(crate) program: Result<Program, String>,
    pub(crate) uses: Uses,
    result: Type,
    nesting: Nesting,
}

/// A variable of a policy.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) expression: Arc<Expression>,
}

/// Compiles expressions and keeps those that are in use, so that expressions which several policies have, or which a changed
/// policy still has, are compiled once.
#[derive(Debug, Default)]
pub(crate) struct Compiler {
    kept: Mutex<HashMap<Key, Weak<Expression>>>,
    /// Secret hashes, by which variables are compared.
    hashes: [RandomState; 2],
}

/// A hash of the names and types of variables; zero for expressions that cannot read any. It stands for them, since a policy
/// may have thousands.
type Signature = [u64; 2];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    text: Arc<str>,
    wanted: Wanted,
    params: bool,
    authorizer: bool,
    variables: Signature,
}

impl Compiler {
    fn kept(&self) -> MutexGuard<'_, HashMap<Key, Weak<Expression>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compiled(&self, key: Key, declared: &PolicyVariables) -> Arc<Expression> {
        if let Some(expression) = self.kept().get(&key).and_then(Weak::upgrade) {
            return expression;
        }
        pintle_work::check_now();
        let expression = Arc::new(Expression::new(&key, Some(declared)));
        let mut kept = self.kept();
        if kept.len() >= SWEEP_AFTER && kept.len() == kept.capacity() {
            kept.retain(|_, expression| expression.strong_count() > 0);
        }
        kept.insert(key, Arc::downgrade(&expression));
        expression
    }
}

impl Expression {
    /// Compiles a match condition of a webhook, which has neither parameters nor variables.
    pub(crate) fn webhook_condition(text: &Arc<str>) -> Expression {
        let key = Key {
            text: text.clone(),
            wanted: Wanted::Bool,
            params: false,
            authorizer: true,
            variables: Signature::default(),
        };
        Expression::new(&key, None)
    }

    /// Compiles an expression; `declared` has the variables before it, where there can be any.
    fn new(key: &Key, declared: Option<&PolicyVariables>) -> Expression {
        let patch_types = key.wanted.is_mutation();
        let has = AdmissionVariables { params: key.params, authorizer: key.authorizer, patch_types };
        let environment = Environment::new(admission(has, declared));
        let failed = |detail: String, nesting: Nesting| Expression {
            text: key.text.clone(),
            program: Err(detail),
            uses: Uses::default(),
            result: Type::Dyn,
            nesting,
        };
        let checked = match environment.check(&key.text) {
            Ok(checked) => checked,
            Err(issues) => return failed(format!("compilation failed: {issues}"), Nesting::default()),
        };
        let (result, wanted) = (checked.result_type(), key.wanted.types());
        if !wanted.is_empty() && !wanted.contains(&result) {
            return failed(mismatch(&wanted, &result), Nesting::default());
        }
        Expression {
            text: key.text.clone(),
            program: checked.program().map_err(|error| format!("program instantiation failed: {error}")),
            uses: Uses {
                request: checked.uses("request"),
                namespace: checked.uses("namespaceObject"),
                authorizer: checked.uses("authorizer") || checked.uses("authorizer.requestResource"),
            },
            nesting: Nesting::of(&key.text, VARIABLES),
            result,
        }
    }
}

/// `must evaluate to bool but got int`.
fn mismatch(wanted: &[Type], got: &Type) -> String {
    let names: Vec<String> = wanted.iter().map(Type::declared_name).collect();
    let got = got.declared_name();
    match names.as_slice() {
        [name] => format!("must evaluate to {name} but got {got}"),
        names => format!("must evaluate to one of [{}] but got {got}", names.join(" ")),
    }
}

/// The compiler of one policy: declares its variables one after the other, each for later expressions.
pub(crate) struct PolicyCompiler<'c> {
    compiler: &'c Compiler,
    has_params: bool,
    declared: PolicyVariables,
    signature: Signature,
    variables: Vec<Variable>,
    /// The nesting of each variable with those that it reads.
    depths: HashMap<String, usize>,
    uses: Uses,
}

impl<'c> PolicyCompiler<'c> {
    /// Begins with the variables and match conditions of a policy of either kind. Returns the conditions.
    pub(crate) fn of_policy(
        policy: &Value,
        compiler: &'c Compiler,
    ) -> (PolicyCompiler<'c>, Vec<Arc<Expression>>) {
        let mut compiler = PolicyCompiler::new(compiler, policy.at(&["spec", "paramKind"]).is_some());
        for variable in policy.items_at(&["spec", "variables"]) {
            compiler.variable(variable.text_at(&["name"]), variable.text_at(&["expression"]));
        }
        let conditions = policy.items_at(&["spec", "matchConditions"]).iter();
        let conditions = conditions
            .map(|condition| compiler.expression(condition.text_at(&["expression"]), Wanted::Bool, true))
            .collect();
        (compiler, conditions)
    }

    pub(crate) fn new(compiler: &'c Compiler, has_params: bool) -> PolicyCompiler<'c> {
        PolicyCompiler {
            compiler,
            has_params,
            declared: PolicyVariables::new(),
            signature: Signature::default(),
            variables: Vec::new(),
            depths: HashMap::new(),
            uses: Uses::default(),
        }
    }

    /// Compiles an expression. Messages are the only ones without an authorizer.
    pub(crate) fn expression(&mut self, text: &str, wanted: Wanted, authorizer: bool) -> Arc<Expression> {
        let reads_variables = text.contains(VARIABLES);
        let key = Key {
            text: text.into(),
            wanted,
            params: self.has_params,
            authorizer,
            variables: if reads_variables { self.signature } else { Signature::default() },
        };
        let expression = self.compiler.compiled(key, &self.declared);
        self.uses = self.uses.or(expression.uses);
        if self.depth_of(&expression) <= DEEPEST || expression.program.is_err() {
            return expression;
        }
        let detail = format!("expression and the variables that it reads are nested deeper than {DEEPEST}");
        Arc::new(Expression {
            text: expression.text.clone(),
            program: Err(detail),
            uses: Uses::default(),
            result: expression.result.clone(),
            nesting: Nesting::default(),
        })
    }

    fn depth_of(&self, expression: &Expression) -> usize {
        let Nesting { depth, fields } = &expression.nesting;
        let below = fields.iter().filter_map(|name| self.depths.get(name)).max();
        depth + below.map_or(0, |below| below + READ_DEPTH)
    }

    /// Compiles a variable and declares it. Of several with one name, which validation refuses, the first is declared.
    pub(crate) fn variable(&mut self, name: &str, text: &str) {
        if self.depths.contains_key(name) {
            return;
        }
        let expression = self.expression(text, Wanted::Anything, true);
        let of = expression.program.is_ok().then_some(&expression.result);
        let of = variable_type(of);
        let added = (self.signature, name, of.declared_name());
        self.signature = self.compiler.hashes.each_ref().map(|hash| hash.hash_one(&added));
        self.declared.declare(name, of);
        self.depths.insert(name.to_owned(), self.depth_of(&expression));
        self.variables.push(Variable { name: name.to_owned(), expression });
    }

    /// Returns the variables, and the inputs that all expressions so far use.
    pub(crate) fn finish(self) -> (Vec<Variable>, Uses) {
        (self.variables, self.uses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(expression: &Expression) -> &str {
        expression.program.as_ref().map_or_else(String::as_str, |_| "")
    }

    #[test]
    fn an_expression_is_compiled_once_as_long_as_it_is_in_use() {
        let compiler = Compiler::default();
        let mut policy = PolicyCompiler::new(&compiler, false);
        let first = policy.expression("object.a == 1", Wanted::Bool, true);
        let mut other = PolicyCompiler::new(&compiler, false);
        other.variable("a", "1");
        assert!(Arc::ptr_eq(&first, &other.expression("object.a == 1", Wanted::Bool, true)));
        let with_params =
            PolicyCompiler::new(&compiler, true).expression("object.a == 1", Wanted::Bool, true);
        assert!(!Arc::ptr_eq(&first, &with_params));
        let number = other.expression("variables.a == 1", Wanted::Bool, true);
        policy.variable("a", "'text'");
        let text = policy.expression("variables.a == 1", Wanted::Bool, true);
        assert_eq!(
            (number.program.is_ok(), text.program.is_ok()),
            (true, false),
            "by the types of variables"
        );
        let kept = || compiler.kept().values().filter(|kept| kept.strong_count() > 0).count();
        assert_eq!(kept(), 6);
        drop((first, with_params, number, text, policy, other));
        assert_eq!(kept(), 0);
    }

    #[test]
    fn results_have_the_wanted_type() {
        let compiler = Compiler::default();
        let mut policy = PolicyCompiler::new(&compiler, true);
        for (text, wanted, expect) in [
            ("1", Wanted::Bool, "must evaluate to bool but got int"),
            ("params.a", Wanted::Bool, "must evaluate to bool but got dyn"),
            ("true", Wanted::TextOrNull, "must evaluate to one of [string null_type] but got bool"),
            ("null", Wanted::TextOrNull, ""),
            ("{'a': 1}", Wanted::Anything, ""),
        ] {
            assert_eq!(error(&policy.expression(text, wanted, true)), expect, "{text}");
        }
        let bad = policy.expression("object.", Wanted::Bool, true);
        assert!(error(&bad).starts_with("compilation failed: ERROR: <input>:1:8: Syntax error"), "{bad:?}");
        let message = policy.expression("string(authorizer)", Wanted::Text, false);
        assert!(error(&message).contains("undeclared reference to 'authorizer'"), "{message:?}");
    }

    #[test]
    fn the_nesting_of_variables_is_bounded() {
        let compiler = Compiler::default();
        let mut policy = PolicyCompiler::new(&compiler, false);
        policy.variable("v0", "1");
        for number in 1..100 {
            policy.variable(&format!("v{number}"), &format!("variables.v{} + 1", number - 1));
        }
        let at = |policy: &mut PolicyCompiler<'_>, number: usize| {
            policy.expression(&format!("variables.v{number} > 1"), Wanted::Bool, true).program.is_ok()
        };
        assert!(at(&mut policy, 20), "as deep as policies are");
        let first = (20..100).find(|number| !at(&mut policy, *number));
        assert!(first.is_some_and(|first| first < 50), "{first:?}");
        let wide: Vec<String> = (0..30).map(|number| format!("variables.v{number}")).collect();
        let wide = policy.expression(&format!("[{}].size() > 1", wide.join(",")), Wanted::Bool, true);
        assert!(wide.program.is_ok());
    }
}
