//! `x-kubernetes-validations`: rules in the Common Expression Language.
