//! Kubernetes' own libraries and cel-go's extensions.

use std::sync::{Arc, Mutex};

use super::{check_all, compiled, written};
use crate::{
    Activation, Authorizer, Budget, Check, Checked, Decision, Declarations, Environment, ResourceCheck, Type,
    authorizer, resource_check,
};

#[test]
fn lists_have_sums_minima_maxima_and_indexes() {
    check_all(&[
        ("[1, 2, 3].sum()", "6"),
        ("[1.5, 2.5].sum()", "4.0"),
        ("[1u, 2u].sum()", "3u"),
        ("[duration('1m'), duration('1s')].sum()", "duration('1m1s')"),
        ("[].map(x, 1.5).sum()", "0.0"),
        ("dyn([1.0, 2.0]).sum()", "3.0"),
        ("[dyn('a')].sum()", "error: no such overload: sum(list)"),
        ("[dyn(null)].max()", "error: no such overload: max(list)"),
        ("[1, 3, 2].max()", "3"),
        ("['b', 'a'].min()", "'a'"),
        ("[].map(x, 1).min()", "error: min called on empty list"),
        ("[1, 2, 2].isSorted()", "true"),
        ("[2, 1].isSorted()", "false"),
        ("['a', 'b', 'b'].indexOf('b')", "1"),
        ("['a', 'b', 'b'].lastIndexOf('b')", "2"),
        ("['a'].indexOf('c')", "-1"),
    ]);
}

#[test]
fn lists_are_sliced_sorted_and_flattened() {
    check_all(&[
        ("[1, 2, 3, 4].slice(1, 3)", "[2, 3]"),
        ("[1].slice(0, 2)", "error: cannot slice(0, 2), list is length 1"),
        ("[1].slice(1, 0)", "error: cannot slice(1, 0), start index must be less than or equal to end index"),
        ("[1].slice(-1, 0)", "error: cannot slice(-1, 0), negative indexes not supported"),
        ("[[1], [2, 3]].flatten()", "[1, 2, 3]"),
        ("[dyn(1), dyn([dyn(2), dyn([dyn(3), dyn([4])])])].flatten(2)", "[1, 2, 3, [4]]"),
        ("[dyn(1), dyn([2])].flatten(-1)", "error: level must be non-negative"),
        ("[3, 1, 2].sort()", "[1, 2, 3]"),
        ("['b', 'a'].sort()", "['a', 'b']"),
        ("[dyn(1), dyn('a')].sort()", "error: list elements must have the same type"),
        ("[{'n': 'b'}, {'n': 'a'}].sortBy(x, x.n).map(x, x.n)", "['a', 'b']"),
        ("lists.range(4)", "[0, 1, 2, 3]"),
        ("lists.range(-1)", "[]"),
        ("[1, 2, 3].reverse()", "[3, 2, 1]"),
        ("[1, 2, 1, 2].distinct()", "[1, 2]"),
    ]);
}

#[test]
fn lists_are_compared_as_sets() {
    check_all(&[
        ("sets.contains([1, 2], [2])", "true"),
        ("sets.contains([1], [2])", "false"),
        ("sets.equivalent([1, 2, 2], [2, 1])", "true"),
        ("sets.equivalent([1], [2])", "false"),
        ("sets.intersects([1, 2], [2, 3])", "true"),
        ("sets.intersects([1], [])", "false"),
    ]);
}

#[test]
fn strings_are_split_joined_and_replaced() {
    check_all(&[
        ("'größe'.charAt(2)", "'ö'"),
        ("'abc'.charAt(3)", "''"),
        ("'abc'.charAt(4)", "error: index out of range: 4"),
        ("'größe'.indexOf('ß')", "3"),
        ("'abcabc'.indexOf('b', 2)", "4"),
        ("'abc'.indexOf('', 2)", "2"),
        ("'abc'.indexOf('a', -1)", "error: index out of range: -1"),
        ("'abc'.indexOf('z')", "-1"),
        ("'abcabc'.lastIndexOf('b')", "4"),
        ("'abcabc'.lastIndexOf('b', 3)", "1"),
        ("'abcabc'.lastIndexOf('abc', 3)", "3"),
        ("'abcabc'.lastIndexOf('abc', 2)", "0"),
        ("'abc'.lastIndexOf('')", "3"),
        ("'TacoÄ'.lowerAscii()", "'tacoÄ'"),
        ("'tacoä'.upperAscii()", "'TACOä'"),
        ("'hello hello'.replace('he', 'we')", "'wello wello'"),
        ("'hello hello'.replace('he', 'we', 1)", "'wello hello'"),
        ("'ab'.replace('', '-')", "'-a-b-'"),
        ("'ab'.replace('', '-', 2)", "'-a-b'"),
        ("'ab'.replace('a', '-', 0)", "'ab'"),
        ("'a,b,c'.split(',')", "['a', 'b', 'c']"),
        ("'a,b,c'.split(',', 2)", "['a', 'b,c']"),
        ("'a,b,c'.split(',', 0)", "[]"),
        ("'a,b,c'.split(',', 1)", "['a,b,c']"),
        ("'abc'.split('')", "['a', 'b', 'c']"),
        ("'abc'.split('', 2)", "['a', 'bc']"),
        ("''.split(',')", "['']"),
        ("''.split('')", "[]"),
        ("'größe'.substring(3)", "'ße'"),
        ("'größe'.substring(1, 3)", "'rö'"),
        ("'abc'.substring(2, 1)", "error: invalid substring range. start: 2, end: 1"),
        ("'abc'.substring(1, 4)", "error: index out of range: 4"),
        ("' \\ta b\\n'.trim()", "'a b'"),
        ("['a', 'b'].join()", "'ab'"),
        ("['a', 'b'].join('-')", "'a-b'"),
        ("[dyn(1)].join('-')", "error: no such overload: join(list, string)"),
        ("[dyn('a'), dyn(1)].join('-')", "error: join: invalid input: 1"),
        ("strings.quote('a\"b\\n')", "'\"a\\\"b\\n\"'"),
        ("'abc 123'.find('[0-9]+')", "'123'"),
        ("'abc'.find('[0-9]+')", "''"),
        ("'1 22 333'.findAll('[0-9]+')", "['1', '22', '333']"),
        ("'1 22 333'.findAll('[0-9]+', 2)", "['1', '22']"),
        ("['['].map(p, 'a'.find(p))", "error: Illegal regex: error parsing regexp: missing closing ]: `[`"),
        (
            "'abc'.reverse()",
            "ERROR: <input>:1:14: found no matching overload for 'reverse' applied to 'string.()'\n | 'abc'.reverse()\n | .............^",
        ),
    ]);
}

#[test]
fn values_are_formatted() {
    check_all(&[
        ("'%s has %d'.format(['a', 3])", "'a has 3'"),
        ("'%s'.format([[1, 'a', {'b': 2, 3: 'c'}]])", "'[1, \"a\", {\"b\":2, 3:\"c\"}]'"),
        ("'100%%'.format([])", "'100%'"),
        ("'%s'.format([1.5])", "'1.5'"),
        ("'%s'.format([true])", "'true'"),
        ("'%s'.format([null])", "'null'"),
        ("'%s'.format([b'abc'])", "'abc'"),
        ("'%s'.format([duration('1m')])", "'60s'"),
        ("'%s'.format([timestamp('2020-01-01T00:00:00Z')])", "'2020-01-01T00:00:00Z'"),
        ("'%s'.format([type(1)])", "'int'"),
        ("'%s'.format([[1, 2]])", "'[1, 2]'"),
        ("'%s'.format([['a', 'b']])", "'[\"a\", \"b\"]'"),
        ("'%s'.format([{'b': 1.5, 'a': 2.0}])", "'{\"a\":2.000000, \"b\":1.500000}'"),
        ("'%s'.format([[duration('1s')]])", "'[duration(\"1s\")]'"),
        ("'%.2f'.format([1234567.891])", "'1,234,567.89'"),
        ("'%f'.format([-0.5])", "'-0.500000'"),
        ("'%f'.format(['NaN'])", "'NaN'"),
        ("'%f'.format(['Infinity'])", "'∞'"),
        ("'%e'.format([1052.032911275])", "'1.052033×10⁰³'"),
        ("'%b %b'.format([dyn(5), dyn(true)])", "'101 1'"),
        ("'%x %X'.format([dyn(255), dyn('hi')])", "'ff 6869'"),
        ("'%x'.format([-26])", "'-1a'"),
        ("'%o'.format([8])", "'10'"),
        (
            "['%d'].map(f, f.format([dyn('a')]))",
            "error: error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("['%s'].map(f, f.format([]))", "error: index 0 out of range"),
        (
            "['%z'].map(f, f.format([1]))",
            "error: could not parse formatting clause: unrecognized formatting clause \"z\"",
        ),
    ]);
    let problem = |expression: &str| {
        let message = compiled(expression, Declarations::new());
        message.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        problem("'%d'.format(['a'])"),
        "ERROR: <input>:1:14: error during formatting: decimal clause can only be used on integers, was given string"
    );
    assert_eq!(
        problem("'%d'.format([1, 2])"),
        "ERROR: <input>:1:12: too many arguments supplied to string.format (expected 1, got 2)"
    );
    assert_eq!(problem("'%d %d'.format([1])"), "ERROR: <input>:1:15: index 1 out of range");
    assert_eq!(problem("'%'.format([1])"), "ERROR: <input>:1:11: unexpected end of string");
}

#[test]
fn addresses_are_parsed_strictly() {
    check_all(&[
        ("string(ip('192.168.0.1'))", "'192.168.0.1'"),
        ("ip('::1').family()", "6"),
        ("ip('127.0.0.1').family()", "4"),
        ("ip('1.2.3.4') == ip('1.2.3.4')", "true"),
        ("isIP('1.2.3.4')", "true"),
        ("isIP('1.2.3.04')", "false"),
        ("isIP('fe80::1%eth0')", "false"),
        ("isIP('::ffff:1.2.3.4')", "false"),
        ("ip.isCanonical('2001:db8::1')", "true"),
        ("ip.isCanonical('2001:DB8::0001')", "false"),
        ("ip('0.0.0.0').isUnspecified()", "true"),
        ("ip('127.0.0.2').isLoopback()", "true"),
        ("ip('224.0.0.1').isLinkLocalMulticast()", "true"),
        ("ip('ff02::1').isLinkLocalMulticast()", "true"),
        ("ip('169.254.1.1').isLinkLocalUnicast()", "true"),
        ("ip('fe80::1').isLinkLocalUnicast()", "true"),
        ("ip('10.0.0.1').isGlobalUnicast()", "true"),
        ("ip('255.255.255.255').isGlobalUnicast()", "false"),
        ("type(ip('::1')) == net.IP", "true"),
        (
            "ip('1.2.3')",
            "error: IP Address \"1.2.3\" parse error during conversion from string: ParseAddr(\"1.2.3\"): IPv4 address too short",
        ),
        (
            "ip('1.2.3.256')",
            "error: IP Address \"1.2.3.256\" parse error during conversion from string: ParseAddr(\"1.2.3.256\"): IPv4 field has value >255",
        ),
        (
            "ip('x')",
            "error: IP Address \"x\" parse error during conversion from string: ParseAddr(\"x\"): unable to parse IP",
        ),
        (
            "ip('1:2:3')",
            "error: IP Address \"1:2:3\" parse error during conversion from string: ParseAddr(\"1:2:3\"): address string too short",
        ),
        (
            "ip('::1::')",
            "error: IP Address \"::1::\" parse error during conversion from string: ParseAddr(\"::1::\"): multiple :: in address (at \":\")",
        ),
        ("ip('::ffff:1.2.3.4')", "error: IPv4-mapped IPv6 address \"::ffff:1.2.3.4\" is not allowed"),
        ("string(ip('1::1.2.3.4'))", "'1::102:304'"),
        ("cidr('192.168.0.0/24').containsIP('192.168.0.7')", "true"),
        ("cidr('192.168.0.0/24').containsIP(ip('192.168.1.7'))", "false"),
        ("cidr('192.168.0.0/24').containsIP('::1')", "false"),
        ("cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')", "true"),
        ("cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/16'))", "false"),
        ("string(cidr('192.168.0.1/24').ip())", "'192.168.0.1'"),
        ("string(cidr('192.168.0.1/24').masked())", "'192.168.0.0/24'"),
        ("cidr('192.168.0.1/24') == cidr('192.168.0.1/24').masked()", "false"),
        ("cidr('::1/128').prefixLength()", "128"),
        ("cidr('2001:db8::/0').containsIP('::1')", "true"),
        ("isCIDR('1.2.3.4/33')", "false"),
        ("isCIDR('1.2.3.4/08')", "false"),
        (
            "cidr('1.2.3.4')",
            "error: network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"1.2.3.4\"): no '/'",
        ),
    ]);
}

#[test]
fn urls_have_components() {
    check_all(&[
        ("url('https://example.com:80/path?k=v#f').getScheme()", "'https'"),
        ("url('https://example.com:80/').getHost()", "'example.com:80'"),
        ("url('https://example.com:80/').getHostname()", "'example.com'"),
        ("url('https://[::1]:80/').getHostname()", "'::1'"),
        ("url('https://[::1]:80/').getPort()", "'80'"),
        ("url('/path').getHost()", "''"),
        ("url('https://example.com/path with spaces/').getEscapedPath()", "'/path%20with%20spaces/'"),
        ("url('https://example.com/a%2Fb').getEscapedPath()", "'/a%2Fb'"),
        ("url('https://example.com').getEscapedPath()", "''"),
        ("url('https://example.com/path?k1=a&k2=b&k2=c').getQuery()", "{'k1': ['a'], 'k2': ['b', 'c']}"),
        ("url('https://example.com/?a+b=c%20d').getQuery()", "{'a b': ['c d']}"),
        ("url('https://example.com/path?').getQuery()", "{}"),
        ("url('https://example.com') == url('https://example.com')", "true"),
        ("isURL('https://user:pass@example.com/path?query=val#fragment')", "true"),
        ("isURL('/absolute-path')", "true"),
        ("isURL('../relative-path')", "false"),
        ("isURL('https://a:b:c/')", "false"),
        (
            "url('../relative-path')",
            "error: URL parse error during conversion from string: parse \"../relative-path\": invalid URI for request",
        ),
        (
            "url('https://a b/')",
            "error: URL parse error during conversion from string: parse \"https://a b/\": invalid character \" \" in host name",
        ),
        (
            "url('https://a/%zz')",
            "error: URL parse error during conversion from string: parse \"https://a/%zz\": invalid URL escape \"%zz\"",
        ),
        ("url('')", "error: URL parse error during conversion from string: parse \"\": empty url"),
        (
            "url(':a')",
            "error: URL parse error during conversion from string: parse \":a\": missing protocol scheme",
        ),
        (
            "url('https://a:x/')",
            "error: URL parse error during conversion from string: parse \"https://a:x/\": invalid port \":x\" after host",
        ),
    ]);
}

#[test]
fn quantities_support_arithmetic() {
    check_all(&[
        ("quantity('200M').compareTo(quantity('0.2G'))", "0"),
        ("quantity('50M').compareTo(quantity('50Mi'))", "-1"),
        ("quantity('150Mi').isGreaterThan(quantity('100Mi'))", "true"),
        ("quantity('100M').isLessThan(quantity('50M'))", "false"),
        ("quantity('50k').add(quantity('20k')) == quantity('70k')", "true"),
        ("quantity('50k').add(20) == quantity('50020')", "true"),
        ("quantity('50k').sub(20000) == quantity('30k')", "true"),
        ("quantity('50k').sub(quantity('20k')).asInteger()", "30000"),
        ("quantity('1.5').isInteger()", "false"),
        ("quantity('1.5').asInteger()", "error: cannot convert value to integer"),
        ("quantity('1.5').asApproximateFloat()", "1.5"),
        ("sign(quantity('-1'))", "-1"),
        ("isQuantity('1Mi')", "true"),
        ("isQuantity('1 Mi')", "false"),
        (
            "quantity('x')",
            "error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ]);
}

#[test]
fn versions_compare() {
    check_all(&[
        ("semver('1.2.3').major()", "1"),
        ("semver('1.2.3').minor()", "2"),
        ("semver('1.2.3').patch()", "3"),
        ("semver('1.2.3').compareTo(semver('1.2.3+build'))", "0"),
        ("semver('1.2.3-alpha').isLessThan(semver('1.2.3'))", "true"),
        ("semver('1.2.3-alpha.1').isLessThan(semver('1.2.3-alpha.beta'))", "true"),
        ("semver('1.2.3-2').isLessThan(semver('1.2.3-10'))", "true"),
        ("semver('2.0.0').isGreaterThan(semver('1.9.9'))", "true"),
        ("semver('v01.01', true) == semver('1.1.0')", "true"),
        ("isSemver('1.2')", "false"),
        ("isSemver('v1.2', true)", "true"),
        ("isSemver('01.2.3')", "false"),
        ("semver('1.2')", "error: No Major.Minor.Patch elements found"),
        ("semver('')", "error: Version string empty"),
        ("semver('a.2.3')", "error: Invalid character(s) found in major number \"a\""),
        ("semver('1.02.3')", "error: Minor number must not contain leading zeroes \"02\""),
        ("semver('v1-rc', true)", "error: short version cannot contain PreRelease/Build meta data"),
    ]);
}

#[test]
fn named_formats_validate_strings() {
    check_all(&[
        ("format.dns1123Label().validate('my-label')", "optional.none()"),
        ("format.dns1123Label().validate('Contains-Upper').hasValue()", "true"),
        ("format.dns1123LabelPrefix().validate('my-prefix-')", "optional.none()"),
        ("format.named('uuid').value().validate('123e4567-e89b-12d3-a456-426614174000')", "optional.none()"),
        ("format.uuid().validate('x')", "optional.of(['does not match the UUID format'])"),
        ("format.byte().validate('aGVsbG8=')", "optional.none()"),
        ("format.byte().validate('a')", "optional.of(['invalid base64'])"),
        ("format.date().validate('2021-02-28')", "optional.none()"),
        ("format.date().validate('2021-02-30')", "optional.of(['invalid date'])"),
        ("format.datetime().validate('2021-01-01T00:00:00Z')", "optional.none()"),
        ("format.datetime().validate('2021-01-01T00:00:00.5+01:00')", "optional.none()"),
        ("format.datetime().validate('2021-01-01T24:00:00Z')", "optional.of(['invalid datetime'])"),
        ("format.uri().validate('http://example.com')", "optional.none()"),
        ("format.uri().validate('x y')", "optional.of(['parse \"x y\": invalid URI for request'])"),
        ("format.qualifiedName().validate('a/b')", "optional.none()"),
        ("format.labelValue().validate('a b').hasValue()", "true"),
        ("format.named('nope')", "optional.none()"),
        ("format.named('date').value() == format.date()", "true"),
    ]);
}

#[test]
fn json_patch_keys_are_escaped_only_in_patch_environments() {
    assert_eq!(compiled("jsonpatch.escapeKey('a')", Declarations::new().json_patch()), "string");
    assert!(compiled("jsonpatch.escapeKey('a')", Declarations::new()).contains("undeclared reference"));
    let environment = Environment::new(Declarations::new().json_patch());
    let program = environment.compile("jsonpatch.escapeKey('a/b~c')").unwrap();
    let done = program.evaluate(&Activation::new(), Budget::PER_CALL).value.unwrap();
    assert_eq!(done.as_str(), Some("a~1b~0c"));
}

/// Authorizer that records its checks.
#[derive(Debug, Default)]
struct RecordingAuthorizer(Mutex<Vec<Check>>);

impl Authorizer for RecordingAuthorizer {
    fn check(&self, check: &Check) -> Decision {
        self.0.lock().unwrap().push(check.clone());
        match check.verb.as_str() {
            "fail" => Decision { error: Some("no answer".to_owned()), ..Decision::default() },
            verb => Decision { allowed: verb == "get", reason: format!("about {verb}"), error: None },
        }
    }
}

#[test]
fn authorizers_decide_checks_of_expressions() {
    let environment = Environment::new(
        Declarations::new()
            .variable("authorizer", Type::AUTHORIZER)
            .variable("authorizer.requestResource", Type::RESOURCE_CHECK),
    );
    let asked = Arc::new(RecordingAuthorizer::default());
    let ask = |expression: &str| {
        let program = environment.compile(expression).unwrap();
        let resource = ResourceCheck { resource: "nodes".to_owned(), ..ResourceCheck::default() };
        let activation = Activation::new()
            .bind_val("authorizer", authorizer(asked.clone()))
            .bind_val("authorizer.requestResource", resource_check(asked.clone(), resource));
        let done = program.evaluate(&activation, Budget::PER_CALL);
        let text = done.value.map_or_else(|error| format!("error: {error}"), |value| written(&value));
        (text, done.cost)
    };
    let whole = "authorizer.group('apps').resource('deployments').subresource('status').namespace('n').name('d')\
                 .fieldSelector('a=b').labelSelector('c=d').check('get').allowed()";
    assert_eq!(ask(whole).0, "true");
    let Checked::Resource(resource) = asked.0.lock().unwrap()[0].what.clone() else { panic!("no resource") };
    assert_eq!(resource.group, "apps");
    assert_eq!((resource.namespace.as_str(), resource.name.as_str()), ("n", "d"));
    assert_eq!((resource.field_selector.as_str(), resource.label_selector.as_str()), ("a=b", "c=d"));
    assert_eq!(ask("authorizer.path('/healthz').check('post').reason()").0, "'about post'");
    assert_eq!(ask("authorizer.path('/healthz').check('fail').error()").0, "'no answer'");
    assert_eq!(ask("authorizer.path('/healthz').check('fail').errored()").0, "true");
    assert_eq!(ask("authorizer.path(' ')").0, "error: path must not be empty");
    assert_eq!(ask("authorizer.group('').resource('')").0, "error: resource must not be empty");
    assert_eq!(ask("authorizer.requestResource.check('get').allowed()"), ("true".to_owned(), 350_002));
    assert_eq!(ask("authorizer.serviceAccount('ns', 'sa').path('/').check('get').allowed()").0, "true");
    let last = asked.0.lock().unwrap().last().cloned().unwrap();
    assert_eq!(last.service_account, Some(("ns".to_owned(), "sa".to_owned())));
    assert_eq!(ask("authorizer.serviceAccount('n s', 'sa')").0, "error: Invalid service account namespace");
    let often = "authorizer.path('/').check('get').allowed() && authorizer.path('/').check('get').allowed() \
                 && authorizer.path('/').check('get').allowed()";
    assert_eq!(ask(often).0, "error: operation cancelled: actual cost limit exceeded");
}
