//! Reads one file's syntax tree: the modules it declares, the paths it names, the functions and types it defines,
//! and its calls of the context's methods.

use std::collections::{BTreeSet, HashSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ImplItem, Item, Lit, Meta, Pat, Token, Type, UseTree, Visibility};

/// The names of the context object: `Context`, and `Bot` in the sources of the checker's own tests.
pub(super) const CONTEXT_TYPES: [&str; 2] = ["Bot", "Context"];

/// A variable or field with one of these names is taken to be the context.
const CONTEXT_NAMES: [&str; 3] = ["bot", "ctx", "context"];

/// The facts of one file. A `scope` is the path of inline modules inside of the file, mostly empty.
#[derive(Default)]
pub(super) struct SyntaxFacts {
    pub(super) modules: Vec<DeclaredModule>,
    pub(super) imports: Vec<ImportedName>,
    pub(super) paths: BTreeSet<NamedPath>,
    pub(super) types: Vec<String>,
    pub(super) functions: Vec<String>,
    pub(super) context_methods: Vec<String>,
    pub(super) context_calls: BTreeSet<String>,
}

pub(super) struct DeclaredModule {
    pub(super) scope: Vec<String>,
    pub(super) name: String,
    pub(super) is_test: bool,
    pub(super) is_inline: bool,
    /// The file of a `#[path]` attribute.
    pub(super) file: Option<String>,
}

/// One leaf of a `use`. `alias` is the name it gets here; a glob and `as _` have none.
pub(super) struct ImportedName {
    pub(super) scope: Vec<String>,
    pub(super) path: Vec<String>,
    pub(super) alias: Option<String>,
    pub(super) is_test: bool,
    pub(super) is_reexport: bool,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NamedPath {
    pub(super) scope: Vec<String>,
    pub(super) path: Vec<String>,
    pub(super) is_test: bool,
}

pub(super) fn read_syntax(text: &str) -> syn::Result<SyntaxFacts> {
    let mut reader = SyntaxReader::default();
    reader.visit_file(&syn::parse_file(text)?);
    Ok(reader.facts)
}

#[derive(Default)]
struct SyntaxReader {
    facts: SyntaxFacts,
    scope: Vec<String>,
    is_test: bool,
    /// Inside of `impl Bot` or `impl Trait for Bot`.
    is_context_impl: bool,
    /// The variables of this function that hold the context.
    context_variables: HashSet<String>,
}

impl SyntaxReader {
    fn record_path(&mut self, path: Vec<String>) {
        if let [.., owner, name] = path.as_slice() {
            let is_context =
                CONTEXT_TYPES.contains(&owner.as_str()) || (self.is_context_impl && path.len() == 2 && owner == "Self");
            if is_context && !self.is_test {
                self.facts.context_calls.insert(name.clone());
            }
        }
        self.facts.paths.insert(NamedPath { scope: self.scope.clone(), path, is_test: self.is_test });
    }

    /// A name alone is a path if it is a type or is called; otherwise it is mostly a variable.
    fn record_if_path(&mut self, path: Vec<String>, is_called: bool) {
        let is_type = path[0].starts_with(char::is_uppercase);
        let is_keyword = path.len() == 1 && ["self", "Self", "super", "crate"].contains(&path[0].as_str());
        if path.len() > 1 || ((is_type || is_called) && !is_keyword) {
            self.record_path(path);
        }
    }

    fn record_import(&mut self, tree: &UseTree, prefix: &[String], is_reexport: bool) {
        let with = |name: &dyn ToString| [prefix, &[name.to_string()]].concat();
        let (path, alias) = match tree {
            UseTree::Path(step) => return self.record_import(&step.tree, &with(&step.ident), is_reexport),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.record_import(tree, prefix, is_reexport));
            }
            UseTree::Name(name) if name.ident == "self" && !prefix.is_empty() => {
                (prefix.to_vec(), prefix.last().cloned())
            }
            UseTree::Name(name) => (with(&name.ident), Some(name.ident.to_string())),
            UseTree::Rename(name) if name.ident == "self" => (prefix.to_vec(), Some(name.rename.to_string())),
            UseTree::Rename(name) => (with(&name.ident), Some(name.rename.to_string())),
            UseTree::Glob(_) => (prefix.to_vec(), None),
        };
        let (scope, is_test) = (self.scope.clone(), self.is_test);
        let alias = alias.filter(|alias| alias != "_");
        self.facts.imports.push(ImportedName { scope, path, alias, is_test, is_reexport });
    }

    fn is_context_name(&self, name: &str) -> bool {
        (name == "self" && self.is_context_impl)
            || CONTEXT_NAMES.contains(&name)
            || self.context_variables.contains(name)
    }

    fn is_context(&self, receiver: &Expr) -> bool {
        match receiver {
            Expr::Path(path) => path.path.get_ident().is_some_and(|name| self.is_context_name(&name.to_string())),
            Expr::Field(field) => {
                matches!(&field.member, syn::Member::Named(name) if CONTEXT_NAMES.iter().any(|known| name == known))
            }
            Expr::MethodCall(call) => call.method == "clone" && self.is_context(&call.receiver),
            Expr::Paren(inner) => self.is_context(&inner.expr),
            Expr::Reference(inner) => self.is_context(&inner.expr),
            Expr::Unary(inner) => self.is_context(&inner.expr),
            _ => false,
        }
    }

    fn record_context_call(&mut self, method: String) {
        if !self.is_test {
            self.facts.context_calls.insert(method);
        }
    }

    /// Reads a macro's tokens, which have no syntax tree: paths, and calls such as `self.card(..)`.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Ident(name) if is_punctuation(&tokens, at.wrapping_sub(1), '.') => {
                    let is_called = is_group(tokens.get(at + 1), Delimiter::Parenthesis);
                    if is_called && self.is_context_token(&tokens[..at - 1]) {
                        self.record_context_call(name.to_string());
                    }
                    at += 1;
                }
                TokenTree::Ident(_) => at = self.read_path_tokens(&tokens, at, &[]),
                TokenTree::Group(group) => {
                    self.read_tokens(group.stream());
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    /// Whether the tokens before a dot end in the context: `self`, `bot`, or the field of another value, as
    /// `runner.bot`.
    fn is_context_token(&self, before: &[TokenTree]) -> bool {
        let Some(TokenTree::Ident(name)) = before.last() else { return false };
        let name = name.to_string();
        let is_field = before.len() > 1 && is_punctuation(before, before.len() - 2, '.');
        if is_field { CONTEXT_NAMES.contains(&name.as_str()) } else { self.is_context_name(&name) }
    }

    /// Reads `a::b::c` or `a::{b, c::d}` from this token on, and returns the index after it.
    fn read_path_tokens(&mut self, tokens: &[TokenTree], mut at: usize, prefix: &[String]) -> usize {
        let mut path = prefix.to_vec();
        while let Some(TokenTree::Ident(name)) = tokens.get(at) {
            path.push(name.to_string());
            at += 1;
            if !(is_punctuation(tokens, at, ':') && is_punctuation(tokens, at + 1, ':')) {
                break;
            }
            at += 2;
            if let Some(TokenTree::Group(group)) = tokens.get(at).filter(|next| is_group(Some(next), Delimiter::Brace))
            {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                for branch in inside.split(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',')) {
                    self.read_path_tokens(branch, 0, &path);
                }
                return at + 1;
            }
        }
        if !path.is_empty() {
            self.record_if_path(path, is_group(tokens.get(at), Delimiter::Parenthesis));
        }
        at
    }
}

fn is_punctuation(tokens: &[TokenTree], at: usize, wanted: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(mark)) if mark.as_char() == wanted)
}

fn is_group(token: Option<&TokenTree>, wanted: Delimiter) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == wanted)
}

impl<'ast> Visit<'ast> for SyntaxReader {
    fn visit_item(&mut self, item: &'ast Item) {
        let before = self.is_test;
        self.is_test |= list_attributes(item).iter().any(is_cfg_test);
        let types = match item {
            Item::Struct(item) => Some(&item.ident),
            Item::Enum(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        if !self.is_test {
            self.facts.types.extend(types.map(ToString::to_string));
        }
        visit::visit_item(self, item);
        self.is_test = before;
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = item.ident.to_string();
        self.facts.modules.push(DeclaredModule {
            scope: self.scope.clone(),
            name: name.clone(),
            is_test: self.is_test,
            is_inline: item.content.is_some(),
            file: item.attrs.iter().find_map(|attribute| read_attribute_text(attribute, "path")),
        });
        self.scope.push(name);
        visit::visit_item_mod(self, item);
        self.scope.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.record_import(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !self.is_test {
            self.facts.functions.push(item.sig.ident.to_string());
        }
        let outer = std::mem::take(&mut self.context_variables);
        visit::visit_item_fn(self, item);
        self.context_variables = outer;
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let is_context = std::mem::replace(&mut self.is_context_impl, is_context_type(&item.self_ty));
        if item.trait_.is_none() && !self.is_test {
            let methods = item.items.iter().filter_map(|item| match item {
                ImplItem::Fn(method) if !method.attrs.iter().any(is_cfg_test) => Some(method.sig.ident.to_string()),
                _ => None,
            });
            let methods: Vec<String> = methods.collect();
            if self.is_context_impl {
                self.facts.context_methods.extend(methods.iter().cloned());
            }
            self.facts.functions.extend(methods);
        }
        visit::visit_item_impl(self, item);
        self.is_context_impl = is_context;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let before = self.is_test;
        self.is_test |= item.attrs.iter().any(is_cfg_test);
        let outer = std::mem::take(&mut self.context_variables);
        visit::visit_impl_item_fn(self, item);
        self.context_variables = outer;
        self.is_test = before;
    }

    fn visit_pat_type(&mut self, typed: &'ast syn::PatType) {
        if let Pat::Ident(variable) = typed.pat.as_ref()
            && is_context_type(&typed.ty)
        {
            self.context_variables.insert(variable.ident.to_string());
        }
        visit::visit_pat_type(self, typed);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let (Pat::Ident(variable), Some(init)) = (&local.pat, &local.init)
            && self.is_context(&init.expr)
        {
            self.context_variables.insert(variable.ident.to_string());
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if self.is_context(&call.receiver) {
            self.record_context_call(call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let Expr::Path(function) = call.func.as_ref()
            && let Some(name) = function.path.get_ident()
        {
            self.record_if_path(vec![name.to_string()], true);
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.record_if_path(list_segments(path), false);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        self.read_tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let Meta::List(list) = &attribute.meta else { return };
        self.read_tokens(list.tokens.clone());
        // Serde takes paths as strings: `#[serde(with = "crate::store::micros")]`.
        for token in list.tokens.clone() {
            if let TokenTree::Literal(literal) = token
                && let Lit::Str(text) = Lit::new(literal)
                && let Ok(path) = text.parse::<syn::Path>()
            {
                self.record_if_path(list_segments(&path), true);
            }
        }
    }

    /// `pub(super)` names a module, but imports nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn list_segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

fn is_context_type(of: &Type) -> bool {
    match of {
        Type::Reference(inner) => is_context_type(&inner.elem),
        Type::Path(path) => {
            let name = path.path.segments.last();
            name.is_some_and(|name| CONTEXT_TYPES.iter().any(|context| name.ident == context))
        }
        _ => false,
    }
}

fn list_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]` or `#[cfg(all(test, ..))]`.
fn is_cfg_test(attribute: &Attribute) -> bool {
    fn needs_test(condition: &Meta) -> bool {
        match condition {
            Meta::Path(path) => path.is_ident("test"),
            Meta::List(list) if list.path.is_ident("all") => list
                .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .is_ok_and(|all| all.iter().any(needs_test)),
            _ => false,
        }
    }
    attribute.path().is_ident("cfg") && attribute.parse_args::<Meta>().is_ok_and(|condition| needs_test(&condition))
}

fn read_attribute_text(attribute: &Attribute, name: &str) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident(name) => match &pair.value {
            Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}
