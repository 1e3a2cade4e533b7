//! `#[derive(Job)]`: a type whose values are the arguments of one kind of job.
//!
//! The macro only spells out an `impl tenure::Job`; what it means is said there. Everything it can tell is wrong, it
//! tells where it is written, while compiling: an unknown option, a name no store would take, a field that is not there.

mod options;

use options::Options;
use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{Data, DeriveInput, Fields, Ident};

/// Makes a type the arguments of a kind of job. It must also derive serde's `Serialize` and `Deserialize`.
///
/// `#[job(…)]` takes `kind` (by default the type's name in snake_case), `queue` (by default `default`), `priority`,
/// `attempts_max`, `timeout_ms`, `key_window_ms`, and as the name of a field `key`, `ordering_key` and `limit_key`.
#[proc_macro_derive(Job, attributes(job))]
pub fn job(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn expand(input: &DeriveInput) -> syn::Result<Tokens> {
    let options = Options::read(input)?;
    for field in [&options.key, &options.ordering_key, &options.limit_key].into_iter().flatten() {
        check_field(input, field)?;
    }
    let name = &input.ident;
    let (generics, of, bounds) = input.generics.split_for_impl();
    let (kind, queue) = (&options.kind, &options.queue);
    let set = options.settings();
    Ok(quote! {
        impl #generics ::tenure::Job for #name #of #bounds {
            const KIND: &'static str = #kind;
            const QUEUE: &'static str = #queue;

            fn options(&self, job: ::tenure::NewJob) -> ::tenure::NewJob {
                job #(#set)*
            }
        }
    })
}

/// A key is read from a field by its name.
fn check_field(input: &DeriveInput, field: &Ident) -> syn::Result<()> {
    let named = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => fields.named.iter().any(|f| f.ident.as_ref() == Some(field)),
            Fields::Unnamed(_) | Fields::Unit => false,
        },
        Data::Enum(_) | Data::Union(_) => false,
    };
    if named { Ok(()) } else { Err(syn::Error::new(field.span(), format!("`{}` has no field `{field}`", input.ident))) }
}
