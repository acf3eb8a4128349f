//! The public API of the libraries, compared with the listings in `public_api/`.
//!
//! A listing has the form of Rust source without bodies: what users can name, with signatures, public fields,
//! derived and implemented traits. Hidden items, test code and the modules that items come from are left out, so
//! a move within a crate changes nothing. Items behind a feature show its `cfg`. The first line names the crates
//! with types in public signatures: an incompatible release of one of them is one of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::Span;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Block, Expr, Field, Fields, GenericArgument, Ident, ImplItem, Item, ItemEnum,
    ItemImpl, ItemUse, PathArguments, Type, TypeParamBound, UseTree, Visibility, parse_quote,
};

const UPDATE: &str = "UPDATE_PUBLIC_API";

#[test]
fn pe_core() {
    compare("pe-core");
}

#[test]
fn pe_candle() {
    compare("pe-candle");
}

fn compare(name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let now = Crate::read(&root.join(name).join("src")).listing();
    let path = root.join(format!("tests/workspace/public_api/{name}.txt"));
    if std::env::var_os(UPDATE).is_some() {
        return fs::write(path, now).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let only = |of: &str, other: &str, sign: char| {
        let other: BTreeSet<&str> = other.lines().collect();
        let lines = of.lines().filter(|line| !other.contains(line));
        lines
            .map(|line| format!("{sign}{line}\n"))
            .collect::<String>()
    };
    assert!(
        kept == now,
        "the public API of {name} changed:\n{}{}if that is meant, add a line to CHANGELOG.md and run\n    \
         {UPDATE}=1 cargo test -p pe-tests --test workspace public_api::",
        only(&kept, &now, '-'),
        only(&now, &kept, '+'),
    );
}

/// The path of a module below its crate, which is `[]` itself, or of an item of another crate.
type Names = Vec<String>;

/// An item by the module that defines it and its name there.
type Place = (Names, String);

/// Meaning of a name.
#[derive(Debug)]
enum Meaning {
    Item(Place),
    Module(Names),
    Foreign(Names),
    Hidden,
}

/// The items of every module, without what users do not see.
struct Crate(BTreeMap<Names, Vec<Item>>);

impl Crate {
    fn read(folder: &Path) -> Self {
        let mut modules = BTreeMap::new();
        read_file(&folder.join("lib.rs"), folder, Vec::new(), &mut modules);
        Self(modules)
    }

    fn listing(&self) -> String {
        let mut listing = Listing {
            of: self,
            public: BTreeMap::new(),
            crates: BTreeSet::new(),
        };
        listing.find_public(&Vec::new(), &Vec::new());
        let mut items = listing.module(&Vec::new(), &Vec::new());
        items.extend(listing.impls(None));
        let crates: Vec<_> = listing.crates.into_iter().collect();
        format!(
            "// Public dependencies: {}.\n{}",
            crates.join(", "),
            printed(items)
        )
    }

    /// Returns the meaning of a name in a module, if it is neither built in nor of the prelude.
    fn meaning(&self, module: &Names, name: &str) -> Option<Meaning> {
        let items = &self.0[module];
        let named = |item: &&Item| ident(item).is_some_and(|ident| ident == name);
        match items.iter().find(named) {
            Some(Item::Mod(_)) => return Some(Meaning::Module(child(module, name))),
            Some(_) => return Some(Meaning::Item((module.clone(), name.to_owned()))),
            None => {}
        }
        let imports = items.iter().filter_map(|item| match item {
            Item::Use(item) => Some(leaves(item)),
            _ => None,
        });
        let (_, path) = imports.flatten().find(|(local, _)| local == name)?;
        Some(self.imported(module, &path))
    }

    /// Returns the meaning of the path of an import.
    fn imported(&self, module: &Names, path: &[String]) -> Meaning {
        let (first, rest) = path.split_first().expect("a path is not empty");
        let start = match first.as_str() {
            "crate" => Meaning::Module(Vec::new()),
            "self" => Meaning::Module(module.clone()),
            "super" => Meaning::Module(module[..module.len() - 1].to_vec()),
            name if self.0.contains_key(&child(module, name)) => {
                Meaning::Module(child(module, name))
            }
            name => Meaning::Foreign(vec![name.to_owned()]),
        };
        rest.iter()
            .fold(start, |start, name| self.inside(start, name))
    }

    /// Returns the meaning of a path in a module's code; `None` if it is built in or of the prelude.
    fn used(&self, module: &Names, path: &syn::Path) -> Option<Meaning> {
        let mut names = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        let first = names.next()?;
        let start = match self.meaning(module, &first) {
            Some(meaning) => meaning,
            None if first == "Self" || path.segments.len() == 1 => return None,
            None => self.imported(module, &[first]),
        };
        Some(names.fold(start, |start, name| self.inside(start, &name)))
    }

    fn inside(&self, start: Meaning, name: &str) -> Meaning {
        match start {
            Meaning::Module(module) if name == "super" => {
                Meaning::Module(module[..module.len() - 1].to_vec())
            }
            Meaning::Module(module) => self.meaning(&module, name).unwrap_or(Meaning::Hidden),
            Meaning::Foreign(path) => Meaning::Foreign(child(&path, name)),
            // Variants and other associated items go with their item.
            item => item,
        }
    }

    fn item(&self, (module, name): &Place) -> &Item {
        let named = |item: &&Item| ident(item).is_some_and(|ident| ident == name);
        self.0[module]
            .iter()
            .find(named)
            .expect("a place holds an item")
    }
}

fn child(names: &Names, name: &str) -> Names {
    [&names[..], &[name.to_owned()]].concat()
}

fn read_file(file: &Path, folder: &Path, module: Names, out: &mut BTreeMap<Names, Vec<Item>>) {
    let source = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut items = syn::parse_file(&source).unwrap().items;
    items.retain(|item| {
        let is = |a: &Attribute, name, word| a.path().is_ident(name) && mentions(a, word);
        let is_left_out =
            |a| is(a, "doc", "hidden") || is(a, "cfg", "test") || is(a, "cfg", "doctest");
        !attributes(item).iter().any(is_left_out)
    });
    items = items.into_iter().flat_map(expanded).collect();
    for item in &mut items {
        Outside.visit_item_mut(item);
        if let Item::Mod(item) = item {
            let name = item.ident.to_string();
            assert!(item.content.is_none(), "{name} has no file of its own");
            let inner = folder.join(&name);
            read_file(
                &inner.with_extension("rs"),
                &inner,
                child(&module, &name),
                out,
            );
        }
    }
    out.insert(module, items);
}

/// Returns the traits of a call of `impl_names`, or the item itself.
fn expanded(item: Item) -> Vec<Item> {
    let Item::Macro(call) = &item else {
        return vec![item];
    };
    if !call.mac.path.is_ident("impl_names") {
        return vec![item];
    }
    let name = call.mac.tokens.clone().into_iter().next();
    vec![
        parse_quote! { impl std::fmt::Display for #name {} },
        parse_quote! { impl std::str::FromStr for #name { type Err = Error; } },
    ]
}

/// Leaves what users see of an item.
struct Outside;

impl VisitMut for Outside {
    fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
        const SEEN: [&str; 7] = [
            "cfg",
            "default",
            "deprecated",
            "derive",
            "must_use",
            "non_exhaustive",
            "repr",
        ];
        attributes.retain(|attribute| {
            let is = |name: &str| attribute.path().is_ident(name);
            SEEN.into_iter().any(is) || is("cfg_attr") && mentions(attribute, "derive")
        });
    }

    fn visit_block_mut(&mut self, body: &mut Block) {
        body.stmts.clear();
    }

    fn visit_expr_mut(&mut self, value: &mut Expr) {
        if matches!(value, Expr::Array(_) | Expr::Path(_)) {
            *value = parse_quote!(_);
        }
    }

    fn visit_item_enum_mut(&mut self, item: &mut ItemEnum) {
        // Fields of variants are as visible as the enum.
        for field in item
            .variants
            .iter_mut()
            .flat_map(|variant| &mut variant.fields)
        {
            field.vis = parse_quote!(pub);
        }
        visit_mut::visit_item_enum_mut(self, item);
        for field in item
            .variants
            .iter_mut()
            .flat_map(|variant| &mut variant.fields)
        {
            field.vis = Visibility::Inherited;
        }
    }

    fn visit_fields_mut(&mut self, fields: &mut Fields) {
        let is_private = |field: &Field| !is_public(&field.vis, &field.attrs);
        if fields.iter().any(is_private) {
            match fields {
                Fields::Named(fields) => {
                    let all = std::mem::take(&mut fields.named).into_iter();
                    let (mut private, public): (Vec<_>, Vec<_>) = all.partition(is_private);
                    // One field `_: _` means all of them.
                    private.truncate(1);
                    for field in &mut private {
                        field.vis = Visibility::Inherited;
                        field.attrs.clear();
                        field.ident = Some(Ident::new("_", Span::call_site()));
                        field.ty = parse_quote!(_);
                    }
                    fields.named = public.into_iter().chain(private).collect();
                }
                Fields::Unnamed(fields) => *fields = parse_quote!((_)),
                Fields::Unit => {}
            }
        }
        visit_mut::visit_fields_mut(self, fields);
    }

    fn visit_item_impl_mut(&mut self, item: &mut ItemImpl) {
        let of_trait = item.trait_.is_some();
        item.items.retain(|item| match item {
            ImplItem::Const(item) => is_public(&item.vis, &item.attrs),
            ImplItem::Fn(item) => is_public(&item.vis, &item.attrs),
            _ => of_trait,
        });
        visit_mut::visit_item_impl_mut(self, item);
    }
}

fn is_public(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    let is_hidden = |a: &Attribute| a.path().is_ident("doc") && mentions(a, "hidden");
    matches!(visibility, Visibility::Public(_)) && !attributes.iter().any(is_hidden)
}

/// Whether a word is among those of an attribute.
fn mentions(attribute: &Attribute, word: &str) -> bool {
    let syn::Meta::List(list) = &attribute.meta else {
        return false;
    };
    let words = list.tokens.to_string();
    words
        .split(|c: char| !c.is_alphanumeric())
        .any(|found| found == word)
}

/// Public items by name.
struct Listing<'a> {
    of: &'a Crate,
    /// The path that each item is listed under: the shortest.
    public: BTreeMap<Place, Names>,
    /// Crates with types in signatures.
    crates: BTreeSet<String>,
}

impl Listing<'_> {
    /// Returns the public items of a module by their names there, with the attributes of that name.
    fn exports(&self, module: &Names) -> BTreeMap<String, (Meaning, Vec<Attribute>)> {
        let mut out = BTreeMap::new();
        for item in &self.of.0[module] {
            let (names, attributes) = match item {
                Item::Use(item) if is_public(&item.vis, &[]) => (leaves(item), &item.attrs[..]),
                Item::Use(_) => continue,
                item => match (ident(item), visibility(item)) {
                    // The attributes of a module are where it is declared, those of an item with it.
                    (Some(name), Some(Visibility::Public(_))) => {
                        let path = ["self".to_owned(), name.to_string()];
                        let is_module = matches!(item, Item::Mod(_));
                        let attributes = if is_module { attributes(item) } else { &[] };
                        (vec![(name.to_string(), path.to_vec())], attributes)
                    }
                    _ => continue,
                },
            };
            for (name, path) in names {
                let meaning = self.of.imported(module, &path);
                if !matches!(meaning, Meaning::Hidden) {
                    out.insert(name, (meaning, attributes.to_vec()));
                }
            }
        }
        out
    }

    fn find_public(&mut self, module: &Names, path: &Names) {
        for (name, (meaning, _)) in self.exports(module) {
            let path = child(path, &name);
            match meaning {
                Meaning::Module(module) => self.find_public(&module, &path),
                Meaning::Item(place) => {
                    let known = self.public.entry(place).or_insert_with(|| path.clone());
                    if path.len() < known.len() {
                        *known = path;
                    }
                }
                Meaning::Foreign(_) | Meaning::Hidden => {}
            }
        }
    }

    fn module(&mut self, module: &Names, path: &Names) -> Vec<Item> {
        let mut out = Vec::new();
        for (name, (meaning, attrs)) in self.exports(module) {
            let listed_at = child(path, &name);
            let name = Ident::new(&name, Span::call_site());
            let reexport = |mut path: Names| -> Item {
                let last = path.pop().expect("a path is not empty");
                let last = Ident::new(&last, Span::call_site());
                let last = match last == name {
                    true => parse_quote!(#last),
                    false => parse_quote!(#last as #name),
                };
                let tree = path.iter().rev().fold(last, |tree: UseTree, name| {
                    let name = Ident::new(name, Span::call_site());
                    parse_quote!(#name::#tree)
                });
                parse_quote!(#(#attrs)* pub use #tree;)
            };
            match meaning {
                Meaning::Foreign(path) => out.push(reexport(path)),
                Meaning::Module(inner) => {
                    let items = self.module(&inner, &listed_at);
                    out.push(parse_quote!(#(#attrs)* pub mod #name { #(#items)* }));
                }
                Meaning::Item(place) if self.public[&place] == listed_at => {
                    out.push(self.definition(&place));
                    out.extend(self.impls(Some(&place)));
                }
                Meaning::Item(place) => {
                    let crate_ = ["crate".to_owned()];
                    out.push(reexport([&crate_, &self.public[&place][..]].concat()));
                }
                Meaning::Hidden => {}
            }
        }
        out
    }

    fn definition(&mut self, place: &Place) -> Item {
        let mut item = self.of.item(place).clone();
        if let Item::Trait(item) = &mut item {
            let bounds = std::mem::take(&mut item.supertraits).into_iter();
            let is_public = |bound: &TypeParamBound| match bound {
                TypeParamBound::Trait(bound) => self.is_public(&place.0, &bound.path),
                _ => true,
            };
            item.supertraits = bounds.filter(is_public).collect();
        }
        self.note_crates(&place.0, item.clone());
        item
    }

    fn is_public(&self, module: &Names, path: &syn::Path) -> bool {
        match self.of.used(module, path) {
            Some(Meaning::Item(place)) => self.public.contains_key(&place),
            Some(Meaning::Hidden) => false,
            _ => true,
        }
    }

    /// Returns the implementations of an item: its own functions in one block, then traits. Without an item,
    /// returns the traits of types that the crate does not define.
    fn impls(&mut self, of: Option<&Place>) -> Vec<Item> {
        let mut own: BTreeMap<String, ItemImpl> = BTreeMap::new();
        let mut traits = BTreeMap::new();
        for (module, items) in &self.of.0 {
            for item in items {
                let Item::Impl(item) = item else { continue };
                let Type::Path(self_type) = &*item.self_ty else {
                    continue;
                };
                let is_of = match self.of.used(module, &self_type.path) {
                    Some(Meaning::Item(place)) => of == Some(&place),
                    _ => of.is_none() && item.trait_.is_some(),
                };
                if !is_of || !self.has_public_trait(module, item) {
                    continue;
                }
                self.note_crates(module, Item::Impl(item.clone()));
                let key = |item: &ItemImpl| printed(vec![Item::Impl(item.clone())]);
                if item.trait_.is_some() {
                    traits.insert(key(item), Item::Impl(item.clone()));
                } else {
                    let mut head = item.clone();
                    head.items.clear();
                    let block = own.entry(key(&head)).or_insert(head);
                    block.items.extend(item.items.iter().cloned());
                }
            }
        }
        for block in own.values_mut() {
            block.items.sort_by_key(|item| match item {
                ImplItem::Const(item) => (0, item.ident.to_string()),
                ImplItem::Fn(item) => (1, item.sig.ident.to_string()),
                _ => (2, String::new()),
            });
        }
        let own = own.into_values().filter(|block| !block.items.is_empty());
        own.map(Item::Impl).chain(traits.into_values()).collect()
    }

    /// Whether the trait, if there is one, and the types that it is given have public names, and one of these is
    /// the crate's or the type is.
    fn has_public_trait(&self, module: &Names, item: &ItemImpl) -> bool {
        let Some((path, _)) = &item.trait_ else {
            return true;
        };
        let arguments = path.segments.iter().filter_map(|s| match &s.arguments {
            PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
            _ => None,
        });
        let types = arguments.flatten().filter_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        });
        let paths = types.chain([&*item.self_ty]).filter_map(|ty| match ty {
            Type::Path(path) => Some(&path.path),
            _ => None,
        });
        let paths: Vec<_> = paths.chain([path]).collect();
        let is_own =
            |path: &&syn::Path| matches!(self.of.used(module, path), Some(Meaning::Item(_)));
        paths.iter().all(|path| self.is_public(module, path)) && paths.iter().any(is_own)
    }

    /// Notes the crates that a public item names.
    fn note_crates(&mut self, module: &Names, mut item: Item) {
        struct Paths(Vec<syn::Path>);
        impl VisitMut for Paths {
            fn visit_attribute_mut(&mut self, _: &mut Attribute) {}
            fn visit_path_mut(&mut self, path: &mut syn::Path) {
                self.0.push(path.clone());
                visit_mut::visit_path_mut(self, path);
            }
        }
        let mut paths = Paths(Vec::new());
        paths.visit_item_mut(&mut item);
        for path in paths.0 {
            // `T::Item` is no crate's.
            if let Some(Meaning::Foreign(names)) = self.of.used(module, &path)
                && names[0].starts_with(char::is_lowercase)
                && names[0] != "std"
            {
                self.crates.insert(names[0].clone());
            }
        }
    }
}

fn printed(items: Vec<Item>) -> String {
    prettyplease::unparse(&syn::File {
        shebang: None,
        frontmatter: None,
        attrs: Vec::new(),
        items,
    })
}

/// Returns the imports: the new name and the path of each.
fn leaves(item: &ItemUse) -> Vec<(String, Names)> {
    fn walk(tree: &UseTree, path: &Names, out: &mut Vec<(String, Names)>) {
        let with = |ident: &Ident| child(path, &ident.to_string());
        match tree {
            UseTree::Path(tree) => walk(&tree.tree, &with(&tree.ident), out),
            UseTree::Name(tree) if tree.ident == "self" => {
                out.push((path[path.len() - 1].clone(), path.clone()));
            }
            UseTree::Name(tree) => out.push((tree.ident.to_string(), with(&tree.ident))),
            UseTree::Rename(tree) => out.push((tree.rename.to_string(), with(&tree.ident))),
            UseTree::Group(tree) => tree.items.iter().for_each(|tree| walk(tree, path, out)),
            _ => {}
        }
    }
    let mut out = Vec::new();
    walk(&item.tree, &Vec::new(), &mut out);
    out
}

fn ident(item: &Item) -> Option<&Ident> {
    Some(match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    })
}

fn visibility(item: &Item) -> Option<&Visibility> {
    Some(match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Mod(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        _ => return None,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
