// SPDX-License-Identifier: MIT OR Apache-2.0

//! Probes, written by `ZONDA_WRITE_DOCS=1 cargo test -p zonda-command --test tidy api`.

use super::*;

fn alias_zenoh_Config() { use zonda::Config as _; }
fn type_zenoh_Error() { use zonda::Error as _; }
fn constant_zenoh_GIT_VERSION() { mod other { pub const GIT_VERSION: () = (); } use other::*; use zonda::*; let _: () = GIT_VERSION; }
fn trait_zenoh_Resolvable() { use zonda::Resolvable as _; }
fn type_of_a_trait_zenoh_Resolvable_To() { let _: Option<<zonda::session::CloseBuilder as zonda::Resolvable>::To>; }
fn trait_zenoh_Resolve() { use zonda::Resolve as _; }
fn type_zenoh_Result() { use zonda::Result as _; }
fn alias_zenoh_Session() { use zonda::Session as _; }
fn trait_zenoh_Wait() { use zonda::Wait as _; }
fn method_zenoh_Wait_wait() { let _ = || used(<zonda::session::CloseBuilder as zonda::Wait>::wait(any())); }
fn module_zenoh_bytes() { use zonda::bytes as _; }
fn struct_zenoh_bytes_Encoding() { use zonda::bytes::Encoding as _; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_CBOR() { let _ = <zonda::bytes::Encoding>::APPLICATION_CBOR; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_CDR() { let _ = <zonda::bytes::Encoding>::APPLICATION_CDR; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_COAP_PAYLOAD() { let _ = <zonda::bytes::Encoding>::APPLICATION_COAP_PAYLOAD; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_JAVA_SERIALIZED_OBJECT() { let _ = <zonda::bytes::Encoding>::APPLICATION_JAVA_SERIALIZED_OBJECT; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_JSON() { let _ = <zonda::bytes::Encoding>::APPLICATION_JSON; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_JSONPATH() { let _ = <zonda::bytes::Encoding>::APPLICATION_JSONPATH; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_JSON_PATCH_JSON() { let _ = <zonda::bytes::Encoding>::APPLICATION_JSON_PATCH_JSON; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_JSON_SEQ() { let _ = <zonda::bytes::Encoding>::APPLICATION_JSON_SEQ; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_JWT() { let _ = <zonda::bytes::Encoding>::APPLICATION_JWT; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_MP4() { let _ = <zonda::bytes::Encoding>::APPLICATION_MP4; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_OCTET_STREAM() { let _ = <zonda::bytes::Encoding>::APPLICATION_OCTET_STREAM; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_OPENMETRICS_TEXT() { let _ = <zonda::bytes::Encoding>::APPLICATION_OPENMETRICS_TEXT; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_PROTOBUF() { let _ = <zonda::bytes::Encoding>::APPLICATION_PROTOBUF; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_PYTHON_SERIALIZED_OBJECT() { let _ = <zonda::bytes::Encoding>::APPLICATION_PYTHON_SERIALIZED_OBJECT; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_SOAP_XML() { let _ = <zonda::bytes::Encoding>::APPLICATION_SOAP_XML; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_SQL() { let _ = <zonda::bytes::Encoding>::APPLICATION_SQL; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_XML() { let _ = <zonda::bytes::Encoding>::APPLICATION_XML; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_X_WWW_FORM_URLENCODED() { let _ = <zonda::bytes::Encoding>::APPLICATION_X_WWW_FORM_URLENCODED; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_YAML() { let _ = <zonda::bytes::Encoding>::APPLICATION_YAML; }
fn constant_of_a_type_zenoh_bytes_Encoding_APPLICATION_YANG() { let _ = <zonda::bytes::Encoding>::APPLICATION_YANG; }
fn constant_of_a_type_zenoh_bytes_Encoding_AUDIO_AAC() { let _ = <zonda::bytes::Encoding>::AUDIO_AAC; }
fn constant_of_a_type_zenoh_bytes_Encoding_AUDIO_FLAC() { let _ = <zonda::bytes::Encoding>::AUDIO_FLAC; }
fn constant_of_a_type_zenoh_bytes_Encoding_AUDIO_MP4() { let _ = <zonda::bytes::Encoding>::AUDIO_MP4; }
fn constant_of_a_type_zenoh_bytes_Encoding_AUDIO_OGG() { let _ = <zonda::bytes::Encoding>::AUDIO_OGG; }
fn constant_of_a_type_zenoh_bytes_Encoding_AUDIO_VORBIS() { let _ = <zonda::bytes::Encoding>::AUDIO_VORBIS; }
fn constant_of_a_type_zenoh_bytes_Encoding_IMAGE_BMP() { let _ = <zonda::bytes::Encoding>::IMAGE_BMP; }
fn constant_of_a_type_zenoh_bytes_Encoding_IMAGE_GIF() { let _ = <zonda::bytes::Encoding>::IMAGE_GIF; }
fn constant_of_a_type_zenoh_bytes_Encoding_IMAGE_JPEG() { let _ = <zonda::bytes::Encoding>::IMAGE_JPEG; }
fn constant_of_a_type_zenoh_bytes_Encoding_IMAGE_PNG() { let _ = <zonda::bytes::Encoding>::IMAGE_PNG; }
fn constant_of_a_type_zenoh_bytes_Encoding_IMAGE_WEBP() { let _ = <zonda::bytes::Encoding>::IMAGE_WEBP; }
fn constant_of_a_type_zenoh_bytes_Encoding_TEXT_CSS() { let _ = <zonda::bytes::Encoding>::TEXT_CSS; }
fn constant_of_a_type_zenoh_bytes_Encoding_TEXT_CSV() { let _ = <zonda::bytes::Encoding>::TEXT_CSV; }
fn constant_of_a_type_zenoh_bytes_Encoding_TEXT_HTML() { let _ = <zonda::bytes::Encoding>::TEXT_HTML; }
fn constant_of_a_type_zenoh_bytes_Encoding_TEXT_JAVASCRIPT() { let _ = <zonda::bytes::Encoding>::TEXT_JAVASCRIPT; }
fn constant_of_a_type_zenoh_bytes_Encoding_TEXT_JSON() { let _ = <zonda::bytes::Encoding>::TEXT_JSON; }
fn constant_of_a_type_zenoh_bytes_Encoding_TEXT_JSON5() { let _ = <zonda::bytes::Encoding>::TEXT_JSON5; }
fn constant_of_a_type_zenoh_bytes_Encoding_TEXT_MARKDOWN() { let _ = <zonda::bytes::Encoding>::TEXT_MARKDOWN; }
fn constant_of_a_type_zenoh_bytes_Encoding_TEXT_PLAIN() { let _ = <zonda::bytes::Encoding>::TEXT_PLAIN; }
fn constant_of_a_type_zenoh_bytes_Encoding_TEXT_XML() { let _ = <zonda::bytes::Encoding>::TEXT_XML; }
fn constant_of_a_type_zenoh_bytes_Encoding_TEXT_YAML() { let _ = <zonda::bytes::Encoding>::TEXT_YAML; }
fn constant_of_a_type_zenoh_bytes_Encoding_VIDEO_H261() { let _ = <zonda::bytes::Encoding>::VIDEO_H261; }
fn constant_of_a_type_zenoh_bytes_Encoding_VIDEO_H263() { let _ = <zonda::bytes::Encoding>::VIDEO_H263; }
fn constant_of_a_type_zenoh_bytes_Encoding_VIDEO_H264() { let _ = <zonda::bytes::Encoding>::VIDEO_H264; }
fn constant_of_a_type_zenoh_bytes_Encoding_VIDEO_H265() { let _ = <zonda::bytes::Encoding>::VIDEO_H265; }
fn constant_of_a_type_zenoh_bytes_Encoding_VIDEO_H266() { let _ = <zonda::bytes::Encoding>::VIDEO_H266; }
fn constant_of_a_type_zenoh_bytes_Encoding_VIDEO_MP4() { let _ = <zonda::bytes::Encoding>::VIDEO_MP4; }
fn constant_of_a_type_zenoh_bytes_Encoding_VIDEO_OGG() { let _ = <zonda::bytes::Encoding>::VIDEO_OGG; }
fn constant_of_a_type_zenoh_bytes_Encoding_VIDEO_RAW() { let _ = <zonda::bytes::Encoding>::VIDEO_RAW; }
fn constant_of_a_type_zenoh_bytes_Encoding_VIDEO_VP8() { let _ = <zonda::bytes::Encoding>::VIDEO_VP8; }
fn constant_of_a_type_zenoh_bytes_Encoding_VIDEO_VP9() { let _ = <zonda::bytes::Encoding>::VIDEO_VP9; }
fn constant_of_a_type_zenoh_bytes_Encoding_ZENOH_BYTES() { let _ = <zonda::bytes::Encoding>::ZENOH_BYTES; }
fn constant_of_a_type_zenoh_bytes_Encoding_ZENOH_SERIALIZED() { let _ = <zonda::bytes::Encoding>::ZENOH_SERIALIZED; }
fn constant_of_a_type_zenoh_bytes_Encoding_ZENOH_STRING() { let _ = <zonda::bytes::Encoding>::ZENOH_STRING; }
fn method_zenoh_bytes_Encoding_default() { let _ = || used(<zonda::bytes::Encoding>::default()); }
fn method_zenoh_bytes_Encoding_with_schema() { let _ = || used(<zonda::bytes::Encoding>::with_schema(any(), "a")); }
fn struct_zenoh_bytes_OptionZBytes() { use zonda::bytes::OptionZBytes as _; }
fn struct_zenoh_bytes_ZBytes() { use zonda::bytes::ZBytes as _; }
fn method_zenoh_bytes_ZBytes_from_reader() { let _ = || used(<zonda::bytes::ZBytes>::from_reader(std::io::empty())); }
fn method_zenoh_bytes_ZBytes_is_empty() { let _ = || used(<zonda::bytes::ZBytes>::is_empty(any())); }
fn method_zenoh_bytes_ZBytes_len() { let _ = || used(<zonda::bytes::ZBytes>::len(any())); }
fn method_zenoh_bytes_ZBytes_new() { let _ = || used(<zonda::bytes::ZBytes>::new()); }
fn method_zenoh_bytes_ZBytes_reader() { let _ = || used(<zonda::bytes::ZBytes>::reader(any())); }
fn method_zenoh_bytes_ZBytes_slices() { let _ = || used(<zonda::bytes::ZBytes>::slices(any())); }
fn method_zenoh_bytes_ZBytes_to_bytes() { let _ = || used(<zonda::bytes::ZBytes>::to_bytes(any())); }
fn method_zenoh_bytes_ZBytes_try_to_string() { let _ = || used(<zonda::bytes::ZBytes>::try_to_string(any())); }
fn method_zenoh_bytes_ZBytes_writer() { let _ = || used(<zonda::bytes::ZBytes>::writer()); }
fn struct_zenoh_bytes_ZBytesReader() { use zonda::bytes::ZBytesReader as _; }
fn method_zenoh_bytes_ZBytesReader_is_empty() { let _ = || used(<zonda::bytes::ZBytesReader>::is_empty(any())); }
fn method_zenoh_bytes_ZBytesReader_remaining() { let _ = || used(<zonda::bytes::ZBytesReader>::remaining(any())); }
fn struct_zenoh_bytes_ZBytesSliceIterator() { use zonda::bytes::ZBytesSliceIterator as _; }
fn struct_zenoh_bytes_ZBytesWriter() { use zonda::bytes::ZBytesWriter as _; }
fn method_zenoh_bytes_ZBytesWriter_append() { let _ = || used(<zonda::bytes::ZBytesWriter>::append(any(), any())); }
fn method_zenoh_bytes_ZBytesWriter_finish() { let _ = || used(<zonda::bytes::ZBytesWriter>::finish(any())); }
fn module_zenoh_cancellation() { use zonda::cancellation as _; }
fn struct_zenoh_cancellation_CancellationToken() { use zonda::cancellation::CancellationToken as _; }
fn method_zenoh_cancellation_CancellationToken_cancel() { let _ = || used(<zonda::cancellation::CancellationToken>::cancel(any())); }
fn method_zenoh_cancellation_CancellationToken_is_cancelled() { let _ = || used(<zonda::cancellation::CancellationToken>::is_cancelled(any())); }
fn module_zenoh_config() { use zonda::config as _; }
fn struct_zenoh_config_Config() { use zonda::config::Config as _; }
fn constant_of_a_type_zenoh_config_Config_DEFAULT_CONFIG_PATH_ENV() { trait Here { const DEFAULT_CONFIG_PATH_ENV: Absent = Absent; } impl<T: ?Sized> Here for T {} let _: Absent = <zonda::config::Config>::DEFAULT_CONFIG_PATH_ENV; }
fn method_zenoh_config_Config_from_deserializer() { fn read<'d, D: serde_core::Deserializer<'d>>(it: D) { used(zonda::Config::from_deserializer(it)); } }
fn method_zenoh_config_Config_from_env() { let _ = || used(<zonda::config::Config>::from_env()); }
fn method_zenoh_config_Config_from_file() { let _ = || used(<zonda::config::Config>::from_file("a")); }
fn method_zenoh_config_Config_from_json5() { let _ = || used(<zonda::config::Config>::from_json5(any())); }
fn method_zenoh_config_Config_get_json() { let _ = || used(<zonda::config::Config>::get_json(any(), any())); }
fn method_zenoh_config_Config_insert_json5() { let _ = || used(<zonda::config::Config>::insert_json5(any(), any(), any())); }
fn method_zenoh_config_Config_remove() { let _ = || used(<zonda::config::Config>::remove(any(), "a")); }
fn method_zenoh_config_Config_try_insert_json5_array_item() { let _ = || used(<zonda::config::Config>::try_insert_json5_array_item(any(), any(), any())); }
fn method_zenoh_config_Config_try_remove_json5_array_item() { let _ = || used(<zonda::config::Config>::try_remove_json5_array_item(any(), "a")); }
fn struct_zenoh_config_EndPoint() { use zonda::config::EndPoint as _; }
fn method_zenoh_config_EndPoint_address() { let _ = || used(<zonda::config::EndPoint>::address(any())); }
fn method_zenoh_config_EndPoint_address_mut() { let _ = || used(<zonda::config::EndPoint>::address_mut(any())); }
fn method_zenoh_config_EndPoint_as_str() { let _ = || used(<zonda::config::EndPoint>::as_str(any())); }
fn method_zenoh_config_EndPoint_config() { let _ = || used(<zonda::config::EndPoint>::config(any())); }
fn method_zenoh_config_EndPoint_config_mut() { let _ = || used(<zonda::config::EndPoint>::config_mut(any())); }
fn method_zenoh_config_EndPoint_metadata() { let _ = || used(<zonda::config::EndPoint>::metadata(any())); }
fn method_zenoh_config_EndPoint_metadata_mut() { let _ = || used(<zonda::config::EndPoint>::metadata_mut(any())); }
fn method_zenoh_config_EndPoint_new() { let _ = || used(<zonda::config::EndPoint>::new("a", "a", "a", "a")); }
fn method_zenoh_config_EndPoint_protocol() { let _ = || used(<zonda::config::EndPoint>::protocol(any())); }
fn method_zenoh_config_EndPoint_protocol_mut() { let _ = || used(<zonda::config::EndPoint>::protocol_mut(any())); }
fn method_zenoh_config_EndPoint_split() { let _ = || used(<zonda::config::EndPoint>::split(any())); }
fn method_zenoh_config_EndPoint_to_locator() { let _ = || used(<zonda::config::EndPoint>::to_locator(any())); }
fn enum_zenoh_config_EndPoints() { mod other { pub type EndPoints = (); } use other::*; use zonda::config::*; let _: EndPoints; }
fn struct_zenoh_config_Locator() { use zonda::config::Locator as _; }
fn method_zenoh_config_Locator_address() { let _ = || used(<zonda::config::Locator>::address(any())); }
fn method_zenoh_config_Locator_address_mut() { trait Here { fn address_mut() -> Absent { Absent } } impl<T: ?Sized> Here for T {} let _: fn() -> Absent = <zonda::config::Locator>::address_mut; }
fn method_zenoh_config_Locator_as_str() { let _ = || used(<zonda::config::Locator>::as_str(any())); }
fn method_zenoh_config_Locator_metadata() { let _ = || used(<zonda::config::Locator>::metadata(any())); }
fn method_zenoh_config_Locator_metadata_mut() { trait Here { fn metadata_mut() -> Absent { Absent } } impl<T: ?Sized> Here for T {} let _: fn() -> Absent = <zonda::config::Locator>::metadata_mut; }
fn method_zenoh_config_Locator_new() { let _ = || zonda::config::Locator::new("tcp", "localhost:7447"); }
fn method_zenoh_config_Locator_protocol() { let _ = || used(<zonda::config::Locator>::protocol(any())); }
fn method_zenoh_config_Locator_protocol_mut() { trait Here { fn protocol_mut() -> Absent { Absent } } impl<T: ?Sized> Here for T {} let _: fn() -> Absent = <zonda::config::Locator>::protocol_mut; }
fn method_zenoh_config_Locator_to_endpoint() { let _ = || used(<zonda::config::Locator>::to_endpoint(any())); }
fn struct_zenoh_config_Notifier() { mod other { pub type Notifier = (); } use other::*; use zonda::config::*; let _: Notifier; }
fn enum_zenoh_config_WhatAmI() { use zonda::config::WhatAmI as _; }
fn variant_zenoh_config_WhatAmI_Client() { use zonda::config::WhatAmI::Client as _; }
fn variant_zenoh_config_WhatAmI_Peer() { use zonda::config::WhatAmI::Peer as _; }
fn variant_zenoh_config_WhatAmI_Router() { use zonda::config::WhatAmI::Router as _; }
fn method_zenoh_config_WhatAmI_is_client() { let _ = || used(<zonda::config::WhatAmI>::is_client(any())); }
fn method_zenoh_config_WhatAmI_is_peer() { let _ = || used(<zonda::config::WhatAmI>::is_peer(any())); }
fn method_zenoh_config_WhatAmI_is_router() { let _ = || used(<zonda::config::WhatAmI>::is_router(any())); }
fn method_zenoh_config_WhatAmI_to_str() { let _ = || used(<zonda::config::WhatAmI>::to_str(any())); }
fn struct_zenoh_config_WhatAmIMatcher() { use zonda::config::WhatAmIMatcher as _; }
fn method_zenoh_config_WhatAmIMatcher_client() { let _ = || used(<zonda::config::WhatAmIMatcher>::client(any())); }
fn method_zenoh_config_WhatAmIMatcher_empty() { let _ = || used(<zonda::config::WhatAmIMatcher>::empty()); }
fn method_zenoh_config_WhatAmIMatcher_is_empty() { let _ = || used(<zonda::config::WhatAmIMatcher>::is_empty(any())); }
fn method_zenoh_config_WhatAmIMatcher_matches() { let _ = || used(<zonda::config::WhatAmIMatcher>::matches(any(), any())); }
fn method_zenoh_config_WhatAmIMatcher_peer() { let _ = || used(<zonda::config::WhatAmIMatcher>::peer(any())); }
fn method_zenoh_config_WhatAmIMatcher_router() { let _ = || used(<zonda::config::WhatAmIMatcher>::router(any())); }
fn method_zenoh_config_WhatAmIMatcher_to_str() { let _ = || used(<zonda::config::WhatAmIMatcher>::to_str(any())); }
fn struct_zenoh_config_ZenohId() { use zonda::config::ZenohId as _; }
fn method_zenoh_config_ZenohId_to_le_bytes() { let _ = || used(<zonda::config::ZenohId>::to_le_bytes(any())); }
fn module_zenoh_handlers() { use zonda::handlers as _; }
fn struct_zenoh_handlers_Callback() { use zonda::handlers::Callback as _; }
fn method_zenoh_handlers_Callback_call() { let _ = || used(<zonda::handlers::Callback<Sample>>::call(any(), any())); }
fn method_zenoh_handlers_Callback_new() { let _ = || used(<zonda::handlers::Callback<Sample>>::new(any())); }
fn struct_zenoh_handlers_CallbackDrop() { use zonda::handlers::CallbackDrop as _; }
fn field_zenoh_handlers_CallbackDrop_callback() { let _ = |it: zonda::handlers::CallbackDrop<fn(Sample), fn()>| used(it.callback); }
fn field_zenoh_handlers_CallbackDrop_drop() { let _ = |it: zonda::handlers::CallbackDrop<fn(Sample), fn()>| used(it.drop); }
fn struct_zenoh_handlers_DefaultHandler() { use zonda::handlers::DefaultHandler as _; }
fn struct_zenoh_handlers_FifoChannel() { use zonda::handlers::FifoChannel as _; }
fn method_zenoh_handlers_FifoChannel_new() { let _ = || used(<zonda::handlers::FifoChannel>::new(any())); }
fn struct_zenoh_handlers_FifoChannelHandler() { use zonda::handlers::FifoChannelHandler as _; }
fn method_zenoh_handlers_FifoChannelHandler_capacity() { let _ = || used(<FifoChannelHandler<Sample>>::capacity(any())); }
fn method_zenoh_handlers_FifoChannelHandler_drain() { let _ = || used(<FifoChannelHandler<Sample>>::drain(any())); }
fn method_zenoh_handlers_FifoChannelHandler_into_recv_async() { trait Here { fn into_recv_async() -> Absent { Absent } } impl<T: ?Sized> Here for T {} let _: fn() -> Absent = <FifoChannelHandler<Sample>>::into_recv_async; }
fn method_zenoh_handlers_FifoChannelHandler_into_stream() { let _ = || used(<FifoChannelHandler<Sample>>::into_stream(any())); }
fn method_zenoh_handlers_FifoChannelHandler_is_disconnected() { let _ = || used(<FifoChannelHandler<Sample>>::is_disconnected(any())); }
fn method_zenoh_handlers_FifoChannelHandler_is_empty() { let _ = || used(<FifoChannelHandler<Sample>>::is_empty(any())); }
fn method_zenoh_handlers_FifoChannelHandler_is_full() { let _ = || used(<FifoChannelHandler<Sample>>::is_full(any())); }
fn method_zenoh_handlers_FifoChannelHandler_iter() { let _ = || used(<FifoChannelHandler<Sample>>::iter(any())); }
fn method_zenoh_handlers_FifoChannelHandler_len() { let _ = || used(<FifoChannelHandler<Sample>>::len(any())); }
fn method_zenoh_handlers_FifoChannelHandler_receiver_count() { let _ = || used(<FifoChannelHandler<Sample>>::receiver_count(any())); }
fn method_zenoh_handlers_FifoChannelHandler_recv() { let _ = || used(<FifoChannelHandler<Sample>>::recv(any())); }
fn method_zenoh_handlers_FifoChannelHandler_recv_async() { let _ = || used(<FifoChannelHandler<Sample>>::recv_async(any())); }
fn method_zenoh_handlers_FifoChannelHandler_recv_deadline() { let _ = || used(<FifoChannelHandler<Sample>>::recv_deadline(any(), any())); }
fn method_zenoh_handlers_FifoChannelHandler_recv_timeout() { let _ = || used(<FifoChannelHandler<Sample>>::recv_timeout(any(), any())); }
fn method_zenoh_handlers_FifoChannelHandler_same_channel() { let _ = || used(<FifoChannelHandler<Sample>>::same_channel(any(), any())); }
fn method_zenoh_handlers_FifoChannelHandler_sender_count() { let _ = || used(<FifoChannelHandler<Sample>>::sender_count(any())); }
fn method_zenoh_handlers_FifoChannelHandler_stream() { let _ = || used(<FifoChannelHandler<Sample>>::stream(any())); }
fn method_zenoh_handlers_FifoChannelHandler_try_iter() { let _ = || used(<FifoChannelHandler<Sample>>::try_iter(any())); }
fn method_zenoh_handlers_FifoChannelHandler_try_recv() { let _ = || used(<FifoChannelHandler<Sample>>::try_recv(any())); }
fn trait_zenoh_handlers_IntoHandler() { use zonda::handlers::IntoHandler as _; }
fn type_of_a_trait_zenoh_handlers_IntoHandler_Handler() { let _: Option<<DefaultHandler as zonda::handlers::IntoHandler<Sample>>::Handler>; }
fn method_zenoh_handlers_IntoHandler_into_handler() { let _ = || used(<DefaultHandler as zonda::handlers::IntoHandler<Sample>>::into_handler(any())); }
fn struct_zenoh_handlers_RingChannel() { use zonda::handlers::RingChannel as _; }
fn method_zenoh_handlers_RingChannel_new() { let _ = || used(<zonda::handlers::RingChannel>::new(any())); }
fn struct_zenoh_handlers_RingChannelHandler() { use zonda::handlers::RingChannelHandler as _; }
fn method_zenoh_handlers_RingChannelHandler_recv() { let _ = || used(<zonda::handlers::RingChannelHandler<Sample>>::recv(any())); }
fn method_zenoh_handlers_RingChannelHandler_recv_async() { let _ = || used(<zonda::handlers::RingChannelHandler<Sample>>::recv_async(any())); }
fn method_zenoh_handlers_RingChannelHandler_recv_deadline() { let _ = || used(<zonda::handlers::RingChannelHandler<Sample>>::recv_deadline(any(), any())); }
fn method_zenoh_handlers_RingChannelHandler_recv_timeout() { let _ = || used(<zonda::handlers::RingChannelHandler<Sample>>::recv_timeout(any(), any())); }
fn method_zenoh_handlers_RingChannelHandler_try_recv() { let _ = || used(<zonda::handlers::RingChannelHandler<Sample>>::try_recv(any())); }
fn module_zenoh_handlers_fifo() { mod other { pub type fifo = (); } use other::*; use zonda::handlers::*; let _: fifo; }
fn function_zenoh_init_log_from_env_or() { use zonda::init_log_from_env_or as _; }
fn module_zenoh_key_expr() { use zonda::key_expr as _; }
fn trait_zenoh_key_expr_Canonize() { use zonda::key_expr::Canonize as _; }
fn method_zenoh_key_expr_Canonize_canonize() { let _ = || used(<String as zonda::key_expr::Canonize>::canonize(any())); }
fn struct_zenoh_key_expr_KeyExpr() { use zonda::key_expr::KeyExpr as _; }
fn method_zenoh_key_expr_KeyExpr_as_keyexpr() { let _ = || used(<zonda::key_expr::KeyExpr>::as_keyexpr(any())); }
fn method_zenoh_key_expr_KeyExpr_autocanonize() { let _ = || used(<zonda::key_expr::KeyExpr>::autocanonize(String::new())); }
fn method_zenoh_key_expr_KeyExpr_borrowing_clone() { let _ = || used(<zonda::key_expr::KeyExpr>::borrowing_clone(any())); }
fn method_zenoh_key_expr_KeyExpr_concat() { let _ = || used(<zonda::key_expr::KeyExpr>::concat(any(), "a")); }
fn method_zenoh_key_expr_KeyExpr_from_boxed_str_unchecked() { let _ = || used(<zonda::key_expr::KeyExpr>::from_boxed_str_unchecked(any())); }
fn method_zenoh_key_expr_KeyExpr_from_str_unchecked() { let _ = || used(<zonda::key_expr::KeyExpr>::from_str_unchecked(any())); }
fn method_zenoh_key_expr_KeyExpr_from_string_unchecked() { let _ = || used(<zonda::key_expr::KeyExpr>::from_string_unchecked(any())); }
fn method_zenoh_key_expr_KeyExpr_into_owned() { let _ = || used(<zonda::key_expr::KeyExpr>::into_owned(any())); }
fn method_zenoh_key_expr_KeyExpr_join() { let _ = || used(any::<zonda::key_expr::KeyExpr>().join("a")); }
fn method_zenoh_key_expr_KeyExpr_new() { let _ = || (<zonda::key_expr::KeyExpr>::new("a"), <zonda::key_expr::KeyExpr>::new(String::new())); }
fn struct_zenoh_key_expr_KeyExprUndeclaration() { mod other { pub type KeyExprUndeclaration = (); } use other::*; use zonda::key_expr::*; let _: KeyExprUndeclaration; }
fn struct_zenoh_key_expr_OwnedKeyExpr() { use zonda::key_expr::OwnedKeyExpr as _; }
fn method_zenoh_key_expr_OwnedKeyExpr_autocanonize() { let _ = || used(<zonda::key_expr::OwnedKeyExpr>::autocanonize(String::new())); }
fn method_zenoh_key_expr_OwnedKeyExpr_from_boxed_str_unchecked() { let _ = || used(<zonda::key_expr::OwnedKeyExpr>::from_boxed_str_unchecked(any())); }
fn method_zenoh_key_expr_OwnedKeyExpr_from_string_unchecked() { let _ = || used(<zonda::key_expr::OwnedKeyExpr>::from_string_unchecked(any())); }
fn method_zenoh_key_expr_OwnedKeyExpr_new() { let _ = || (<zonda::key_expr::OwnedKeyExpr>::new("a"), <zonda::key_expr::OwnedKeyExpr>::new(String::new())); }
fn struct_zenoh_key_expr_OwnedNonWildKeyExpr() { use zonda::key_expr::OwnedNonWildKeyExpr as _; }
fn enum_zenoh_key_expr_SetIntersectionLevel() { use zonda::key_expr::SetIntersectionLevel as _; }
fn variant_zenoh_key_expr_SetIntersectionLevel_Disjoint() { use zonda::key_expr::SetIntersectionLevel::Disjoint as _; }
fn variant_zenoh_key_expr_SetIntersectionLevel_Equals() { use zonda::key_expr::SetIntersectionLevel::Equals as _; }
fn variant_zenoh_key_expr_SetIntersectionLevel_Includes() { use zonda::key_expr::SetIntersectionLevel::Includes as _; }
fn variant_zenoh_key_expr_SetIntersectionLevel_Intersects() { use zonda::key_expr::SetIntersectionLevel::Intersects as _; }
fn module_zenoh_key_expr_format() { use zonda::key_expr::format as _; }
fn enum_zenoh_key_expr_format_FormatSetError() { use zonda::key_expr::format::FormatSetError as _; }
fn variant_zenoh_key_expr_format_FormatSetError_InvalidId() { use zonda::key_expr::format::FormatSetError::InvalidId as _; }
fn variant_zenoh_key_expr_format_FormatSetError_PatternNotMatched() { use zonda::key_expr::format::FormatSetError::PatternNotMatched as _; }
fn trait_zenoh_key_expr_format_IKeFormatStorage() { mod other { pub type IKeFormatStorage = (); } use other::*; use zonda::key_expr::format::*; let _: IKeFormatStorage; }
fn struct_zenoh_key_expr_format_Iter() { use zonda::key_expr::format::Iter as _; }
fn struct_zenoh_key_expr_format_KeFormat() { use zonda::key_expr::format::KeFormat as _; }
fn method_zenoh_key_expr_format_KeFormat_formatter() { let _ = || used(<zonda::key_expr::format::KeFormat<'static>>::formatter(any())); }
fn method_zenoh_key_expr_format_KeFormat_new() { let _ = || used(<zonda::key_expr::format::KeFormat<'static>>::new("a")); }
fn method_zenoh_key_expr_format_KeFormat_noalloc_new() { trait Here { fn noalloc_new() -> Absent { Absent } } impl<T: ?Sized> Here for T {} let _: fn() -> Absent = <zonda::key_expr::format::KeFormat<'static>>::noalloc_new; }
fn method_zenoh_key_expr_format_KeFormat_parse() { let _ = || used(<zonda::key_expr::format::KeFormat<'static>>::parse(any(), any())); }
fn struct_zenoh_key_expr_format_KeFormatter() { use zonda::key_expr::format::KeFormatter as _; }
fn method_zenoh_key_expr_format_KeFormatter_build() { let _ = || used(<zonda::key_expr::format::KeFormatter<'static>>::build(any())); }
fn method_zenoh_key_expr_format_KeFormatter_clear() { let _ = || used(<zonda::key_expr::format::KeFormatter<'static>>::clear(any())); }
fn method_zenoh_key_expr_format_KeFormatter_format() { let _ = || used(<zonda::key_expr::format::KeFormatter<'static>>::format(any())); }
fn method_zenoh_key_expr_format_KeFormatter_get() { let _ = || used(<zonda::key_expr::format::KeFormatter<'static>>::get(any(), any())); }
fn method_zenoh_key_expr_format_KeFormatter_set() { let _ = || used(<zonda::key_expr::format::KeFormatter<'static>>::set(any(), any(), "a")); }
fn struct_zenoh_key_expr_format_OwnedKeFormat() { mod other { pub type OwnedKeFormat = (); } use other::*; use zonda::key_expr::format::*; let _: OwnedKeFormat; }
fn struct_zenoh_key_expr_format_Parsed() { use zonda::key_expr::format::Parsed as _; }
fn method_zenoh_key_expr_format_Parsed_get() { let _ = || used(<zonda::key_expr::format::Parsed<'static>>::get(any(), any())); }
fn method_zenoh_key_expr_format_Parsed_iter() { let _ = || used(<zonda::key_expr::format::Parsed<'static>>::iter(any())); }
fn method_zenoh_key_expr_format_Parsed_values() { let _ = || used(<zonda::key_expr::format::Parsed<'static>>::values(any())); }
fn struct_zenoh_key_expr_format_Segment() { use zonda::key_expr::format::Segment as _; }
fn method_zenoh_key_expr_format_Segment_default() { let _ = || used(<zonda::key_expr::format::Segment>::default(any())); }
fn method_zenoh_key_expr_format_Segment_id() { let _ = || used(<zonda::key_expr::format::Segment>::id(any())); }
fn method_zenoh_key_expr_format_Segment_pattern() { let _ = || used(<zonda::key_expr::format::Segment>::pattern(any())); }
fn method_zenoh_key_expr_format_Segment_prefix() { let _ = || used(<zonda::key_expr::format::Segment>::prefix(any())); }
fn macro_zenoh_key_expr_format_ke() { use zonda::key_expr::format::ke as _; }
fn macro_zenoh_key_expr_format_kedefine() { use zonda::key_expr::format::kedefine as _; }
fn macro_zenoh_key_expr_format_keformat() { use zonda::key_expr::format::keformat as _; }
fn macro_zenoh_key_expr_format_kewrite() { use zonda::key_expr::format::kewrite as _; }
fn module_zenoh_key_expr_format_macro_support() { mod other { pub type macro_support = (); } use other::*; use zonda::key_expr::format::*; let _: macro_support; }
fn struct_zenoh_key_expr_keyexpr() { use zonda::key_expr::keyexpr as _; }
fn method_zenoh_key_expr_keyexpr_as_str() { let _ = || used(<zonda::key_expr::keyexpr>::as_str(any())); }
fn method_zenoh_key_expr_keyexpr_autocanonize() { let _ = || used(<zonda::key_expr::keyexpr>::autocanonize(&mut String::new())); }
fn method_zenoh_key_expr_keyexpr_from_slice_unchecked() { trait Here { fn from_slice_unchecked() -> Absent { Absent } } impl<T: ?Sized> Here for T {} let _: fn() -> Absent = <zonda::key_expr::keyexpr>::from_slice_unchecked; }
fn method_zenoh_key_expr_keyexpr_from_str_unchecked() { let _ = || used(<zonda::key_expr::keyexpr>::from_str_unchecked(any())); }
fn method_zenoh_key_expr_keyexpr_includes() { let _ = || used(<zonda::key_expr::keyexpr>::includes(any(), any())); }
fn method_zenoh_key_expr_keyexpr_intersects() { let _ = || used(<zonda::key_expr::keyexpr>::intersects(any(), any())); }
fn method_zenoh_key_expr_keyexpr_join() { let _ = || used(<zonda::key_expr::keyexpr>::join(any(), "a")); }
fn method_zenoh_key_expr_keyexpr_new() { let _ = || <zonda::key_expr::keyexpr>::new("a"); }
fn method_zenoh_key_expr_keyexpr_relation_to() { let _ = || used(<zonda::key_expr::keyexpr>::relation_to(any(), any())); }
fn module_zenoh_key_expr_keyexpr_tree() { use zonda::key_expr::keyexpr_tree as _; }
fn trait_zenoh_key_expr_keyexpr_tree_IKeyExprTree() { use zonda::key_expr::keyexpr_tree::IKeyExprTree as _; }
fn type_of_a_trait_zenoh_key_expr_keyexpr_tree_IKeyExprTree_Node() { let _: Option<<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTree<'static, u8>>::Node>; }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTree_included_keys() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTree<'static, u8>>::included_keys(any(), any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTree_included_nodes() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTree<'static, u8>>::included_nodes(any(), any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTree_intersecting_keys() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTree<'static, u8>>::intersecting_keys(any(), any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTree_intersecting_nodes() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTree<'static, u8>>::intersecting_nodes(any(), any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTree_key_value_pairs() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTree<'static, u8>>::key_value_pairs(any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTree_keys_including() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTree<'static, u8>>::keys_including(any(), any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTree_node() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTree<'static, u8>>::node(any(), any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTree_nodes_including() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTree<'static, u8>>::nodes_including(any(), any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTree_tree_iter() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTree<'static, u8>>::tree_iter(any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTree_weight_at() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTree<'static, u8>>::weight_at(any(), any())); }
fn trait_zenoh_key_expr_keyexpr_tree_IKeyExprTreeMut() { use zonda::key_expr::keyexpr_tree::IKeyExprTreeMut as _; }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTreeMut_included_nodes_mut() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTreeMut<'static, u8>>::included_nodes_mut(any(), any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTreeMut_insert() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTreeMut<'static, u8>>::insert(any(), any(), any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTreeMut_intersecting_nodes_mut() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTreeMut<'static, u8>>::intersecting_nodes_mut(any(), any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTreeMut_node_mut() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTreeMut<'static, u8>>::node_mut(any(), any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTreeMut_node_mut_or_create() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTreeMut<'static, u8>>::node_mut_or_create(any(), any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTreeMut_nodes_including_mut() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTreeMut<'static, u8>>::nodes_including_mut(any(), any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTreeMut_prune() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTreeMut<'static, u8>>::prune(any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTreeMut_prune_where() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTreeMut<'static, u8>>::prune_where(any(), |_| true)); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTreeMut_remove() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTreeMut<'static, u8>>::remove(any(), any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTreeMut_tree_iter_mut() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTreeMut<'static, u8>>::tree_iter_mut(any())); }
fn method_zenoh_key_expr_keyexpr_tree_IKeyExprTreeMut_weight_at_mut() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8> as zonda::key_expr::keyexpr_tree::IKeyExprTreeMut<'static, u8>>::weight_at_mut(any(), any())); }
fn struct_zenoh_key_expr_keyexpr_tree_KeBoxTree() { use zonda::key_expr::keyexpr_tree::KeBoxTree as _; }
fn method_zenoh_key_expr_keyexpr_tree_KeBoxTree_new() { let _ = || used(<zonda::key_expr::keyexpr_tree::KeBoxTree<u8>>::new()); }
fn struct_zenoh_key_expr_keyexpr_tree_KeyedSetProvider() { use zonda::key_expr::keyexpr_tree::KeyedSetProvider as _; }
fn struct_zenoh_key_expr_keyexpr_tree_NonWild() { use zonda::key_expr::keyexpr_tree::NonWild as _; }
fn struct_zenoh_key_expr_keyexpr_tree_UnknownWildness() { use zonda::key_expr::keyexpr_tree::UnknownWildness as _; }
fn struct_zenoh_key_expr_nonwild_keyexpr() { use zonda::key_expr::nonwild_keyexpr as _; }
fn method_zenoh_key_expr_nonwild_keyexpr_from_str_unchecked() { let _ = || used(<zonda::key_expr::nonwild_keyexpr>::from_str_unchecked(any())); }
fn method_zenoh_key_expr_nonwild_keyexpr_new() { let _ = || <zonda::key_expr::nonwild_keyexpr>::new("a"); }
fn module_zenoh_liveliness() { use zonda::liveliness as _; }
fn struct_zenoh_liveliness_Liveliness() { use zonda::liveliness::Liveliness as _; }
fn method_zenoh_liveliness_Liveliness_declare_subscriber() { let _ = || used(<zonda::liveliness::Liveliness>::declare_subscriber(any(), "a")); }
fn method_zenoh_liveliness_Liveliness_declare_token() { let _ = || used(<zonda::liveliness::Liveliness>::declare_token(any(), "a")); }
fn method_zenoh_liveliness_Liveliness_get() { let _ = || used(<zonda::liveliness::Liveliness>::get(any(), "a")); }
fn struct_zenoh_liveliness_LivelinessGetBuilder() { use zonda::liveliness::LivelinessGetBuilder as _; }
fn method_zenoh_liveliness_LivelinessGetBuilder_callback() { let _ = || used(<zonda::liveliness::LivelinessGetBuilder<'static, 'static, DefaultHandler>>::callback(any(), |_| ())); }
fn method_zenoh_liveliness_LivelinessGetBuilder_callback_mut() { let _ = || used(<zonda::liveliness::LivelinessGetBuilder<'static, 'static, DefaultHandler>>::callback_mut(any(), |_| ())); }
fn method_zenoh_liveliness_LivelinessGetBuilder_cancellation_token() { let _ = || used(<zonda::liveliness::LivelinessGetBuilder<'static, 'static, DefaultHandler>>::cancellation_token(any(), any())); }
fn method_zenoh_liveliness_LivelinessGetBuilder_timeout() { let _ = || used(<zonda::liveliness::LivelinessGetBuilder<'static, 'static, DefaultHandler>>::timeout(any(), any())); }
fn method_zenoh_liveliness_LivelinessGetBuilder_with() { let _ = || used(<zonda::liveliness::LivelinessGetBuilder<'static, 'static, DefaultHandler>>::with(any(), DefaultHandler::default())); }
fn struct_zenoh_liveliness_LivelinessSubscriberBuilder() { use zonda::liveliness::LivelinessSubscriberBuilder as _; }
fn method_zenoh_liveliness_LivelinessSubscriberBuilder_background() { let _ = || used(<zonda::liveliness::LivelinessSubscriberBuilder<'static, 'static, zonda::handlers::Callback<Sample>>>::background(any())); }
fn method_zenoh_liveliness_LivelinessSubscriberBuilder_callback() { let _ = || used(<zonda::liveliness::LivelinessSubscriberBuilder<'static, 'static, DefaultHandler>>::callback(any(), |_| ())); }
fn method_zenoh_liveliness_LivelinessSubscriberBuilder_callback_mut() { let _ = || used(<zonda::liveliness::LivelinessSubscriberBuilder<'static, 'static, DefaultHandler>>::callback_mut(any(), |_| ())); }
fn method_zenoh_liveliness_LivelinessSubscriberBuilder_history() { let _ = || used(<zonda::liveliness::LivelinessSubscriberBuilder<'static, 'static, DefaultHandler>>::history(any(), any())); }
fn method_zenoh_liveliness_LivelinessSubscriberBuilder_with() { let _ = || used(<zonda::liveliness::LivelinessSubscriberBuilder<'static, 'static, DefaultHandler>>::with(any(), DefaultHandler::default())); }
fn struct_zenoh_liveliness_LivelinessToken() { use zonda::liveliness::LivelinessToken as _; }
fn method_zenoh_liveliness_LivelinessToken_undeclare() { let _ = || used(<zonda::liveliness::LivelinessToken>::undeclare(any())); }
fn struct_zenoh_liveliness_LivelinessTokenBuilder() { use zonda::liveliness::LivelinessTokenBuilder as _; }
fn struct_zenoh_liveliness_LivelinessTokenUndeclaration() { mod other { pub type LivelinessTokenUndeclaration = (); } use other::*; use zonda::liveliness::*; let _: LivelinessTokenUndeclaration; }
fn module_zenoh_matching() { use zonda::matching as _; }
fn struct_zenoh_matching_MatchingListener() { use zonda::matching::MatchingListener as _; }
fn method_zenoh_matching_MatchingListener_handler() { let _ = || used(<zonda::matching::MatchingListener<FifoChannelHandler<zonda::matching::MatchingStatus>>>::handler(any())); }
fn method_zenoh_matching_MatchingListener_handler_mut() { let _ = || used(<zonda::matching::MatchingListener<FifoChannelHandler<zonda::matching::MatchingStatus>>>::handler_mut(any())); }
fn method_zenoh_matching_MatchingListener_undeclare() { let _ = || used(<zonda::matching::MatchingListener<FifoChannelHandler<zonda::matching::MatchingStatus>>>::undeclare(any())); }
fn struct_zenoh_matching_MatchingListenerBuilder() { use zonda::matching::MatchingListenerBuilder as _; }
fn method_zenoh_matching_MatchingListenerBuilder_background() { let _ = || used(<zonda::matching::MatchingListenerBuilder<'static, zonda::handlers::Callback<zonda::matching::MatchingStatus>>>::background(any())); }
fn method_zenoh_matching_MatchingListenerBuilder_callback() { let _ = || used(<zonda::matching::MatchingListenerBuilder<'static, DefaultHandler>>::callback(any(), |_| ())); }
fn method_zenoh_matching_MatchingListenerBuilder_callback_mut() { let _ = || used(<zonda::matching::MatchingListenerBuilder<'static, DefaultHandler>>::callback_mut(any(), |_| ())); }
fn method_zenoh_matching_MatchingListenerBuilder_with() { let _ = || used(<zonda::matching::MatchingListenerBuilder<'static, DefaultHandler>>::with(any(), DefaultHandler::default())); }
fn struct_zenoh_matching_MatchingListenerUndeclaration() { mod other { pub type MatchingListenerUndeclaration = (); } use other::*; use zonda::matching::*; let _: MatchingListenerUndeclaration; }
fn struct_zenoh_matching_MatchingStatus() { use zonda::matching::MatchingStatus as _; }
fn method_zenoh_matching_MatchingStatus_matching() { let _ = || used(<zonda::matching::MatchingStatus>::matching(any())); }
fn alias_zenoh_open() { use zonda::open as _; }
fn module_zenoh_pubsub() { use zonda::pubsub as _; }
fn struct_zenoh_pubsub_PublicationBuilder() { mod other { pub type PublicationBuilder = (); } use other::*; use zonda::pubsub::*; let _: PublicationBuilder; }
fn method_zenoh_pubsub_PublicationBuilder_allowed_destination() { let _ = || used(<zonda::pubsub::SessionPutBuilder<'static, 'static>>::allowed_destination(any(), any())); }
fn method_zenoh_pubsub_PublicationBuilder_attachment() { let _ = || used(<zonda::pubsub::SessionPutBuilder<'static, 'static>>::attachment(any(), "a")); }
fn method_zenoh_pubsub_PublicationBuilder_congestion_control() { let _ = || used(<zonda::pubsub::SessionPutBuilder<'static, 'static>>::congestion_control(any(), any())); }
fn method_zenoh_pubsub_PublicationBuilder_encoding() { let _ = || used(<zonda::pubsub::SessionPutBuilder<'static, 'static>>::encoding(any(), "a")); }
fn method_zenoh_pubsub_PublicationBuilder_express() { let _ = || used(<zonda::pubsub::SessionPutBuilder<'static, 'static>>::express(any(), any())); }
fn method_zenoh_pubsub_PublicationBuilder_priority() { let _ = || used(<zonda::pubsub::SessionPutBuilder<'static, 'static>>::priority(any(), any())); }
fn method_zenoh_pubsub_PublicationBuilder_reliability() { let _ = || used(<zonda::pubsub::SessionPutBuilder<'static, 'static>>::reliability(any(), any())); }
fn method_zenoh_pubsub_PublicationBuilder_source_info() { let _ = || used(<zonda::pubsub::SessionPutBuilder<'static, 'static>>::source_info(any(), None)); }
fn method_zenoh_pubsub_PublicationBuilder_timestamp() { let _ = || used(<zonda::pubsub::SessionPutBuilder<'static, 'static>>::timestamp(any(), None)); }
fn method_zenoh_pubsub_PublicationBuilder_timestamp_instrumentation() { let _ = || used(<zonda::pubsub::SessionPutBuilder<'static, 'static>>::timestamp_instrumentation(any(), None)); }
fn struct_zenoh_pubsub_PublicationBuilderDelete() { mod other { pub type PublicationBuilderDelete = (); } use other::*; use zonda::pubsub::*; let _: PublicationBuilderDelete; }
fn struct_zenoh_pubsub_PublicationBuilderPut() { mod other { pub type PublicationBuilderPut = (); } use other::*; use zonda::pubsub::*; let _: PublicationBuilderPut; }
fn struct_zenoh_pubsub_Publisher() { use zonda::pubsub::Publisher as _; }
fn method_zenoh_pubsub_Publisher_congestion_control() { let _ = || used(<zonda::pubsub::Publisher>::congestion_control(any())); }
fn method_zenoh_pubsub_Publisher_delete() { let _ = || used(<zonda::pubsub::Publisher>::delete(any())); }
fn method_zenoh_pubsub_Publisher_encoding() { let _ = || used(<zonda::pubsub::Publisher>::encoding(any())); }
fn method_zenoh_pubsub_Publisher_id() { let _ = || used(<zonda::pubsub::Publisher>::id(any())); }
fn method_zenoh_pubsub_Publisher_key_expr() { let _ = || used(<zonda::pubsub::Publisher>::key_expr(any())); }
fn method_zenoh_pubsub_Publisher_matching_listener() { let _ = || used(<zonda::pubsub::Publisher>::matching_listener(any())); }
fn method_zenoh_pubsub_Publisher_matching_status() { let _ = || used(<zonda::pubsub::Publisher>::matching_status(any())); }
fn method_zenoh_pubsub_Publisher_priority() { let _ = || used(<zonda::pubsub::Publisher>::priority(any())); }
fn method_zenoh_pubsub_Publisher_put() { let _ = || used(<zonda::pubsub::Publisher>::put(any(), "a")); }
fn method_zenoh_pubsub_Publisher_reliability() { let _ = || used(<zonda::pubsub::Publisher>::reliability(any())); }
fn method_zenoh_pubsub_Publisher_undeclare() { let _ = || used(<zonda::pubsub::Publisher>::undeclare(any())); }
fn struct_zenoh_pubsub_PublisherBuilder() { use zonda::pubsub::PublisherBuilder as _; }
fn method_zenoh_pubsub_PublisherBuilder_allowed_destination() { let _ = || used(<zonda::pubsub::PublisherBuilder>::allowed_destination(any(), any())); }
fn method_zenoh_pubsub_PublisherBuilder_congestion_control() { let _ = || used(<zonda::pubsub::PublisherBuilder>::congestion_control(any(), any())); }
fn method_zenoh_pubsub_PublisherBuilder_encoding() { let _ = || used(<zonda::pubsub::PublisherBuilder>::encoding(any(), "a")); }
fn method_zenoh_pubsub_PublisherBuilder_express() { let _ = || used(<zonda::pubsub::PublisherBuilder>::express(any(), any())); }
fn method_zenoh_pubsub_PublisherBuilder_priority() { let _ = || used(<zonda::pubsub::PublisherBuilder>::priority(any(), any())); }
fn method_zenoh_pubsub_PublisherBuilder_reliability() { let _ = || used(<zonda::pubsub::PublisherBuilder>::reliability(any(), any())); }
fn type_zenoh_pubsub_PublisherDeleteBuilder() { use zonda::pubsub::PublisherDeleteBuilder as _; }
fn type_zenoh_pubsub_PublisherPutBuilder() { use zonda::pubsub::PublisherPutBuilder as _; }
fn struct_zenoh_pubsub_PublisherUndeclaration() { mod other { pub type PublisherUndeclaration = (); } use other::*; use zonda::pubsub::*; let _: PublisherUndeclaration; }
fn struct_zenoh_pubsub_Subscriber() { use zonda::pubsub::Subscriber as _; }
fn method_zenoh_pubsub_Subscriber_handler() { let _ = || used(<zonda::pubsub::Subscriber<FifoChannelHandler<Sample>>>::handler(any())); }
fn method_zenoh_pubsub_Subscriber_handler_mut() { let _ = || used(<zonda::pubsub::Subscriber<FifoChannelHandler<Sample>>>::handler_mut(any())); }
fn method_zenoh_pubsub_Subscriber_id() { let _ = || used(<zonda::pubsub::Subscriber<FifoChannelHandler<Sample>>>::id(any())); }
fn method_zenoh_pubsub_Subscriber_key_expr() { let _ = || used(<zonda::pubsub::Subscriber<FifoChannelHandler<Sample>>>::key_expr(any())); }
fn method_zenoh_pubsub_Subscriber_undeclare() { let _ = || used(<zonda::pubsub::Subscriber<FifoChannelHandler<Sample>>>::undeclare(any())); }
fn struct_zenoh_pubsub_SubscriberBuilder() { use zonda::pubsub::SubscriberBuilder as _; }
fn method_zenoh_pubsub_SubscriberBuilder_allowed_origin() { let _ = || used(<zonda::pubsub::SubscriberBuilder<'static, 'static, DefaultHandler>>::allowed_origin(any(), any())); }
fn method_zenoh_pubsub_SubscriberBuilder_background() { let _ = || used(<zonda::pubsub::SubscriberBuilder<'static, 'static, zonda::handlers::Callback<Sample>>>::background(any())); }
fn method_zenoh_pubsub_SubscriberBuilder_callback() { let _ = || used(<zonda::pubsub::SubscriberBuilder<'static, 'static, DefaultHandler>>::callback(any(), |_| ())); }
fn method_zenoh_pubsub_SubscriberBuilder_callback_mut() { let _ = || used(<zonda::pubsub::SubscriberBuilder<'static, 'static, DefaultHandler>>::callback_mut(any(), |_| ())); }
fn method_zenoh_pubsub_SubscriberBuilder_with() { let _ = || used(<zonda::pubsub::SubscriberBuilder<'static, 'static, DefaultHandler>>::with(any(), DefaultHandler::default())); }
fn struct_zenoh_pubsub_SubscriberUndeclaration() { mod other { pub type SubscriberUndeclaration = (); } use other::*; use zonda::pubsub::*; let _: SubscriberUndeclaration; }
fn module_zenoh_qos() { use zonda::qos as _; }
fn enum_zenoh_qos_CongestionControl() { use zonda::qos::CongestionControl as _; }
fn variant_zenoh_qos_CongestionControl_Block() { use zonda::qos::CongestionControl::Block as _; }
fn variant_zenoh_qos_CongestionControl_BlockFirst() { use zonda::qos::CongestionControl::BlockFirst as _; }
fn constant_of_a_type_zenoh_qos_CongestionControl_DEFAULT() { let _ = <zonda::qos::CongestionControl>::DEFAULT; }
fn variant_zenoh_qos_CongestionControl_Drop() { use zonda::qos::CongestionControl::Drop as _; }
fn enum_zenoh_qos_Priority() { use zonda::qos::Priority as _; }
fn variant_zenoh_qos_Priority_Background() { use zonda::qos::Priority::Background as _; }
fn constant_of_a_type_zenoh_qos_Priority_DEFAULT() { let _ = <zonda::qos::Priority>::DEFAULT; }
fn variant_zenoh_qos_Priority_Data() { use zonda::qos::Priority::Data as _; }
fn variant_zenoh_qos_Priority_DataHigh() { use zonda::qos::Priority::DataHigh as _; }
fn variant_zenoh_qos_Priority_DataLow() { use zonda::qos::Priority::DataLow as _; }
fn variant_zenoh_qos_Priority_InteractiveHigh() { use zonda::qos::Priority::InteractiveHigh as _; }
fn variant_zenoh_qos_Priority_InteractiveLow() { use zonda::qos::Priority::InteractiveLow as _; }
fn variant_zenoh_qos_Priority_RealTime() { use zonda::qos::Priority::RealTime as _; }
fn enum_zenoh_qos_Reliability() { use zonda::qos::Reliability as _; }
fn variant_zenoh_qos_Reliability_BestEffort() { use zonda::qos::Reliability::BestEffort as _; }
fn constant_of_a_type_zenoh_qos_Reliability_DEFAULT() { let _ = <zonda::qos::Reliability>::DEFAULT; }
fn variant_zenoh_qos_Reliability_Reliable() { use zonda::qos::Reliability::Reliable as _; }
fn module_zenoh_query() { use zonda::query as _; }
fn enum_zenoh_query_ConsolidationMode() { use zonda::query::ConsolidationMode as _; }
fn variant_zenoh_query_ConsolidationMode_Auto() { use zonda::query::ConsolidationMode::Auto as _; }
fn constant_of_a_type_zenoh_query_ConsolidationMode_DEFAULT() { let _ = <zonda::query::ConsolidationMode>::DEFAULT; }
fn variant_zenoh_query_ConsolidationMode_Latest() { use zonda::query::ConsolidationMode::Latest as _; }
fn variant_zenoh_query_ConsolidationMode_Monotonic() { use zonda::query::ConsolidationMode::Monotonic as _; }
fn variant_zenoh_query_ConsolidationMode_None() { use zonda::query::ConsolidationMode::None as _; }
fn struct_zenoh_query_Parameters() { use zonda::query::Parameters as _; }
fn method_zenoh_query_Parameters_as_str() { let _ = || used(<zonda::query::Parameters>::as_str(any())); }
fn method_zenoh_query_Parameters_contains_key() { let _ = || used(<zonda::query::Parameters>::contains_key(any(), "a")); }
fn method_zenoh_query_Parameters_empty() { let _ = || used(<zonda::query::Parameters>::empty()); }
fn method_zenoh_query_Parameters_extend() { let _ = || used(<zonda::query::Parameters>::extend(any(), any())); }
fn method_zenoh_query_Parameters_extend_from_iter() { let _ = || used(<zonda::query::Parameters>::extend_from_iter(any(), [("a", "b")].iter().map(|(a, b)| (a, b)))); }
fn method_zenoh_query_Parameters_get() { let _ = || used(<zonda::query::Parameters>::get(any(), "a")); }
fn method_zenoh_query_Parameters_insert() { let _ = || used(<zonda::query::Parameters>::insert(any(), "a", "a")); }
fn method_zenoh_query_Parameters_into_owned() { let _ = || used(<zonda::query::Parameters>::into_owned(any())); }
fn method_zenoh_query_Parameters_is_empty() { let _ = || used(<zonda::query::Parameters>::is_empty(any())); }
fn method_zenoh_query_Parameters_is_ordered() { trait Here { fn is_ordered() -> Absent { Absent } } impl<T: ?Sized> Here for T {} let _: fn() -> Absent = <zonda::query::Parameters>::is_ordered; }
fn method_zenoh_query_Parameters_iter() { let _ = || used(<zonda::query::Parameters>::iter(any())); }
fn method_zenoh_query_Parameters_remove() { let _ = || used(<zonda::query::Parameters>::remove(any(), "a")); }
fn method_zenoh_query_Parameters_values() { let _ = || used(<zonda::query::Parameters>::values(any(), "a")); }
fn struct_zenoh_query_Querier() { use zonda::query::Querier as _; }
fn method_zenoh_query_Querier_accept_replies() { let _ = || used(<zonda::query::Querier>::accept_replies(any())); }
fn method_zenoh_query_Querier_congestion_control() { let _ = || used(<zonda::query::Querier>::congestion_control(any())); }
fn method_zenoh_query_Querier_get() { let _ = || used(<zonda::query::Querier>::get(any())); }
fn method_zenoh_query_Querier_id() { let _ = || used(<zonda::query::Querier>::id(any())); }
fn method_zenoh_query_Querier_key_expr() { let _ = || used(<zonda::query::Querier>::key_expr(any())); }
fn method_zenoh_query_Querier_matching_listener() { let _ = || used(<zonda::query::Querier>::matching_listener(any())); }
fn method_zenoh_query_Querier_matching_status() { let _ = || used(<zonda::query::Querier>::matching_status(any())); }
fn method_zenoh_query_Querier_priority() { let _ = || used(<zonda::query::Querier>::priority(any())); }
fn method_zenoh_query_Querier_undeclare() { let _ = || used(<zonda::query::Querier>::undeclare(any())); }
fn struct_zenoh_query_QuerierBuilder() { use zonda::query::QuerierBuilder as _; }
fn method_zenoh_query_QuerierBuilder_accept_replies() { let _ = || used(<zonda::query::QuerierBuilder>::accept_replies(any(), any())); }
fn method_zenoh_query_QuerierBuilder_allowed_destination() { let _ = || used(<zonda::query::QuerierBuilder>::allowed_destination(any(), any())); }
fn method_zenoh_query_QuerierBuilder_congestion_control() { let _ = || used(<zonda::query::QuerierBuilder>::congestion_control(any(), any())); }
fn method_zenoh_query_QuerierBuilder_consolidation() { let _ = || used(<zonda::query::QuerierBuilder>::consolidation(any(), zonda::query::ConsolidationMode::None)); }
fn method_zenoh_query_QuerierBuilder_express() { let _ = || used(<zonda::query::QuerierBuilder>::express(any(), any())); }
fn method_zenoh_query_QuerierBuilder_priority() { let _ = || used(<zonda::query::QuerierBuilder>::priority(any(), any())); }
fn method_zenoh_query_QuerierBuilder_target() { let _ = || used(<zonda::query::QuerierBuilder>::target(any(), any())); }
fn method_zenoh_query_QuerierBuilder_timeout() { let _ = || used(<zonda::query::QuerierBuilder>::timeout(any(), any())); }
fn struct_zenoh_query_QuerierGetBuilder() { use zonda::query::QuerierGetBuilder as _; }
fn method_zenoh_query_QuerierGetBuilder_attachment() { let _ = || used(<zonda::query::QuerierGetBuilder<'static, 'static, DefaultHandler>>::attachment(any(), "a")); }
fn method_zenoh_query_QuerierGetBuilder_callback() { let _ = || used(<zonda::query::QuerierGetBuilder<'static, 'static, DefaultHandler>>::callback(any(), |_| ())); }
fn method_zenoh_query_QuerierGetBuilder_callback_mut() { let _ = || used(<zonda::query::QuerierGetBuilder<'static, 'static, DefaultHandler>>::callback_mut(any(), |_| ())); }
fn method_zenoh_query_QuerierGetBuilder_cancellation_token() { let _ = || used(<zonda::query::QuerierGetBuilder<'static, 'static, DefaultHandler>>::cancellation_token(any(), any())); }
fn method_zenoh_query_QuerierGetBuilder_encoding() { let _ = || used(<zonda::query::QuerierGetBuilder<'static, 'static, DefaultHandler>>::encoding(any(), "a")); }
fn method_zenoh_query_QuerierGetBuilder_parameters() { let _ = || used(<zonda::query::QuerierGetBuilder<'static, 'static, DefaultHandler>>::parameters(any(), "a")); }
fn method_zenoh_query_QuerierGetBuilder_payload() { let _ = || used(<zonda::query::QuerierGetBuilder<'static, 'static, DefaultHandler>>::payload(any(), "a")); }
fn method_zenoh_query_QuerierGetBuilder_source_info() { let _ = || used(<zonda::query::QuerierGetBuilder<'static, 'static, DefaultHandler>>::source_info(any(), None)); }
fn method_zenoh_query_QuerierGetBuilder_timestamp_instrumentation() { let _ = || used(<zonda::query::QuerierGetBuilder<'static, 'static, DefaultHandler>>::timestamp_instrumentation(any(), None)); }
fn method_zenoh_query_QuerierGetBuilder_with() { let _ = || used(<zonda::query::QuerierGetBuilder<'static, 'static, DefaultHandler>>::with(any(), DefaultHandler::default())); }
fn struct_zenoh_query_QuerierUndeclaration() { mod other { pub type QuerierUndeclaration = (); } use other::*; use zonda::query::*; let _: QuerierUndeclaration; }
fn struct_zenoh_query_Query() { use zonda::query::Query as _; }
fn method_zenoh_query_Query_accepts_replies() { let _ = || used(<zonda::query::Query>::accepts_replies(any())); }
fn method_zenoh_query_Query_attachment() { let _ = || used(<zonda::query::Query>::attachment(any())); }
fn method_zenoh_query_Query_attachment_mut() { let _ = || used(<zonda::query::Query>::attachment_mut(any())); }
fn method_zenoh_query_Query_congestion_control() { let _ = || used(<zonda::query::Query>::congestion_control(any())); }
fn method_zenoh_query_Query_encoding() { let _ = || used(<zonda::query::Query>::encoding(any())); }
fn method_zenoh_query_Query_express() { let _ = || used(<zonda::query::Query>::express(any())); }
fn method_zenoh_query_Query_key_expr() { let _ = || used(<zonda::query::Query>::key_expr(any())); }
fn method_zenoh_query_Query_parameters() { let _ = || used(<zonda::query::Query>::parameters(any())); }
fn method_zenoh_query_Query_payload() { let _ = || used(<zonda::query::Query>::payload(any())); }
fn method_zenoh_query_Query_payload_mut() { let _ = || used(<zonda::query::Query>::payload_mut(any())); }
fn method_zenoh_query_Query_priority() { let _ = || used(<zonda::query::Query>::priority(any())); }
fn method_zenoh_query_Query_reply() { let _ = || used(<zonda::query::Query>::reply(any(), "a", "a")); }
fn method_zenoh_query_Query_reply_del() { let _ = || used(<zonda::query::Query>::reply_del(any(), "a")); }
fn method_zenoh_query_Query_reply_err() { let _ = || used(<zonda::query::Query>::reply_err(any(), "a")); }
fn method_zenoh_query_Query_selector() { let _ = || used(<zonda::query::Query>::selector(any())); }
fn method_zenoh_query_Query_source_info() { let _ = || used(<zonda::query::Query>::source_info(any())); }
fn method_zenoh_query_Query_timestamp_stack() { let _ = || used(<zonda::query::Query>::timestamp_stack(any())); }
fn struct_zenoh_query_QueryConsolidation() { use zonda::query::QueryConsolidation as _; }
fn constant_of_a_type_zenoh_query_QueryConsolidation_AUTO() { let _ = <zonda::query::QueryConsolidation>::AUTO; }
fn constant_of_a_type_zenoh_query_QueryConsolidation_DEFAULT() { let _ = <zonda::query::QueryConsolidation>::DEFAULT; }
fn method_zenoh_query_QueryConsolidation_mode() { let _ = || used(<zonda::query::QueryConsolidation>::mode(any())); }
fn enum_zenoh_query_QueryTarget() { use zonda::query::QueryTarget as _; }
fn variant_zenoh_query_QueryTarget_All() { use zonda::query::QueryTarget::All as _; }
fn variant_zenoh_query_QueryTarget_AllComplete() { use zonda::query::QueryTarget::AllComplete as _; }
fn variant_zenoh_query_QueryTarget_BestMatching() { use zonda::query::QueryTarget::BestMatching as _; }
fn constant_of_a_type_zenoh_query_QueryTarget_DEFAULT() { let _ = <zonda::query::QueryTarget>::DEFAULT; }
fn struct_zenoh_query_Queryable() { use zonda::query::Queryable as _; }
fn method_zenoh_query_Queryable_handler() { let _ = || used(<zonda::query::Queryable<FifoChannelHandler<Query>>>::handler(any())); }
fn method_zenoh_query_Queryable_handler_mut() { let _ = || used(<zonda::query::Queryable<FifoChannelHandler<Query>>>::handler_mut(any())); }
fn method_zenoh_query_Queryable_id() { let _ = || used(<zonda::query::Queryable<FifoChannelHandler<Query>>>::id(any())); }
fn method_zenoh_query_Queryable_key_expr() { let _ = || used(<zonda::query::Queryable<FifoChannelHandler<Query>>>::key_expr(any())); }
fn method_zenoh_query_Queryable_undeclare() { let _ = || used(<zonda::query::Queryable<FifoChannelHandler<Query>>>::undeclare(any())); }
fn struct_zenoh_query_QueryableBuilder() { use zonda::query::QueryableBuilder as _; }
fn method_zenoh_query_QueryableBuilder_allowed_origin() { let _ = || used(<zonda::query::QueryableBuilder<'static, 'static, DefaultHandler>>::allowed_origin(any(), any())); }
fn method_zenoh_query_QueryableBuilder_background() { let _ = || used(<zonda::query::QueryableBuilder<'static, 'static, zonda::handlers::Callback<Query>>>::background(any())); }
fn method_zenoh_query_QueryableBuilder_callback() { let _ = || used(<zonda::query::QueryableBuilder<'static, 'static, DefaultHandler>>::callback(any(), |_| ())); }
fn method_zenoh_query_QueryableBuilder_callback_mut() { let _ = || used(<zonda::query::QueryableBuilder<'static, 'static, DefaultHandler>>::callback_mut(any(), |_| ())); }
fn method_zenoh_query_QueryableBuilder_complete() { let _ = || used(<zonda::query::QueryableBuilder<'static, 'static, DefaultHandler>>::complete(any(), any())); }
fn method_zenoh_query_QueryableBuilder_with() { let _ = || used(<zonda::query::QueryableBuilder<'static, 'static, DefaultHandler>>::with(any(), DefaultHandler::default())); }
fn struct_zenoh_query_QueryableUndeclaration() { mod other { pub type QueryableUndeclaration = (); } use other::*; use zonda::query::*; let _: QueryableUndeclaration; }
fn struct_zenoh_query_Reply() { use zonda::query::Reply as _; }
fn method_zenoh_query_Reply_into_result() { let _ = || used(<zonda::query::Reply>::into_result(any())); }
fn method_zenoh_query_Reply_replier_id() { let _ = || used(<zonda::query::Reply>::replier_id(any())); }
fn method_zenoh_query_Reply_result() { let _ = || used(<zonda::query::Reply>::result(any())); }
fn method_zenoh_query_Reply_result_mut() { let _ = || used(<zonda::query::Reply>::result_mut(any())); }
fn struct_zenoh_query_ReplyBuilder() { use zonda::query::ReplyBuilder as _; }
fn method_zenoh_query_ReplyBuilder_attachment() { let _ = || used(<zonda::query::ReplyBuilder<'static, 'static, zonda::query::ReplyBuilderPut>>::attachment(any(), "a")); }
fn method_zenoh_query_ReplyBuilder_congestion_control() { let _ = || used(<zonda::query::ReplyBuilder<'static, 'static, zonda::query::ReplyBuilderPut>>::congestion_control(any(), any())); }
fn method_zenoh_query_ReplyBuilder_encoding() { let _ = || used(<zonda::query::ReplyBuilder<'static, 'static, zonda::query::ReplyBuilderPut>>::encoding(any(), "a")); }
fn method_zenoh_query_ReplyBuilder_express() { let _ = || used(<zonda::query::ReplyBuilder<'static, 'static, zonda::query::ReplyBuilderPut>>::express(any(), any())); }
fn method_zenoh_query_ReplyBuilder_priority() { let _ = || used(<zonda::query::ReplyBuilder<'static, 'static, zonda::query::ReplyBuilderPut>>::priority(any(), any())); }
fn method_zenoh_query_ReplyBuilder_source_info() { let _ = || used(<zonda::query::ReplyBuilder<'static, 'static, zonda::query::ReplyBuilderPut>>::source_info(any(), None)); }
fn method_zenoh_query_ReplyBuilder_timestamp() { let _ = || used(<zonda::query::ReplyBuilder<'static, 'static, zonda::query::ReplyBuilderPut>>::timestamp(any(), None)); }
fn struct_zenoh_query_ReplyBuilderDelete() { use zonda::query::ReplyBuilderDelete as _; }
fn struct_zenoh_query_ReplyBuilderPut() { use zonda::query::ReplyBuilderPut as _; }
fn struct_zenoh_query_ReplyErrBuilder() { use zonda::query::ReplyErrBuilder as _; }
fn method_zenoh_query_ReplyErrBuilder_encoding() { let _ = || used(<zonda::query::ReplyErrBuilder>::encoding(any(), "a")); }
fn struct_zenoh_query_ReplyError() { use zonda::query::ReplyError as _; }
fn method_zenoh_query_ReplyError_encoding() { let _ = || used(<zonda::query::ReplyError>::encoding(any())); }
fn method_zenoh_query_ReplyError_payload() { let _ = || used(<zonda::query::ReplyError>::payload(any())); }
fn method_zenoh_query_ReplyError_payload_mut() { let _ = || used(<zonda::query::ReplyError>::payload_mut(any())); }
fn method_zenoh_query_ReplyError_timestamp_stack() { let _ = || used(<zonda::query::ReplyError>::timestamp_stack(any())); }
fn enum_zenoh_query_ReplyKeyExpr() { use zonda::query::ReplyKeyExpr as _; }
fn variant_zenoh_query_ReplyKeyExpr_Any() { use zonda::query::ReplyKeyExpr::Any as _; }
fn variant_zenoh_query_ReplyKeyExpr_MatchingQuery() { use zonda::query::ReplyKeyExpr::MatchingQuery as _; }
fn struct_zenoh_query_Selector() { use zonda::query::Selector as _; }
fn method_zenoh_query_Selector_borrowed() { let _ = || used(<zonda::query::Selector>::borrowed(any(), any())); }
fn method_zenoh_query_Selector_into_owned() { let _ = || used(<zonda::query::Selector>::into_owned(any())); }
fn method_zenoh_query_Selector_key_expr() { let _ = || used(<zonda::query::Selector>::key_expr(any())); }
fn method_zenoh_query_Selector_owned() { let _ = || used(<zonda::query::Selector>::owned(any::<zonda::key_expr::KeyExpr<'static>>(), "a")); }
fn method_zenoh_query_Selector_parameters() { let _ = || used(<zonda::query::Selector>::parameters(any())); }
fn method_zenoh_query_Selector_split() { let _ = || used(<zonda::query::Selector>::split(any())); }
fn enum_zenoh_query_TimeBound() { use zonda::query::TimeBound as _; }
fn variant_zenoh_query_TimeBound_Exclusive() { use zonda::query::TimeBound::Exclusive as _; }
fn variant_zenoh_query_TimeBound_Inclusive() { use zonda::query::TimeBound::Inclusive as _; }
fn variant_zenoh_query_TimeBound_Unbounded() { use zonda::query::TimeBound::Unbounded as _; }
fn method_zenoh_query_TimeBound_resolve_at() { let _ = || used(<zonda::query::TimeBound<zonda::query::TimeExpr>>::resolve_at(any(), any())); }
fn enum_zenoh_query_TimeExpr() { use zonda::query::TimeExpr as _; }
fn variant_zenoh_query_TimeExpr_Fixed() { use zonda::query::TimeExpr::Fixed as _; }
fn variant_zenoh_query_TimeExpr_Now() { use zonda::query::TimeExpr::Now as _; }
fn method_zenoh_query_TimeExpr_checked_add() { let _ = || used(<zonda::query::TimeExpr>::checked_add(any(), any())); }
fn method_zenoh_query_TimeExpr_checked_resolve_at() { let _ = || used(<zonda::query::TimeExpr>::checked_resolve_at(any(), any())); }
fn method_zenoh_query_TimeExpr_checked_sub() { let _ = || used(<zonda::query::TimeExpr>::checked_sub(any(), any())); }
fn method_zenoh_query_TimeExpr_resolve_at() { trait Here { fn resolve_at() -> Absent { Absent } } impl<T: ?Sized> Here for T {} let _: fn() -> Absent = <zonda::query::TimeExpr>::resolve_at; }
fn struct_zenoh_query_TimeRange() { use zonda::query::TimeRange as _; }
fn method_zenoh_query_TimeRange_contains() { let _ = || used(<zonda::query::TimeRange>::contains(any(), any())); }
fn field_zenoh_query_TimeRange_end() { let _ = |it: zonda::query::TimeRange| used(it.end); }
fn method_zenoh_query_TimeRange_resolve() { let _ = || used(<zonda::query::TimeRange>::resolve(any())); }
fn method_zenoh_query_TimeRange_resolve_at() { let _ = || used(<zonda::query::TimeRange>::resolve_at(any(), any())); }
fn field_zenoh_query_TimeRange_start() { let _ = |it: zonda::query::TimeRange| used(it.start); }
fn trait_zenoh_query_ZenohParameters() { use zonda::query::ZenohParameters as _; }
fn method_zenoh_query_ZenohParameters_reply_key_expr_any() { let _ = || used(<zonda::query::Parameters<'static> as zonda::query::ZenohParameters>::reply_key_expr_any(any())); }
fn method_zenoh_query_ZenohParameters_set_reply_key_expr_any() { let _ = || used(<zonda::query::Parameters<'static> as zonda::query::ZenohParameters>::set_reply_key_expr_any(any())); }
fn method_zenoh_query_ZenohParameters_set_time_range() { let _ = || used(<zonda::query::Parameters<'static> as zonda::query::ZenohParameters>::set_time_range(any(), None)); }
fn method_zenoh_query_ZenohParameters_time_range() { let _ = || used(<zonda::query::Parameters<'static> as zonda::query::ZenohParameters>::time_range(any())); }
fn module_zenoh_sample() { use zonda::sample as _; }
fn enum_zenoh_sample_Locality() { use zonda::sample::Locality as _; }
fn variant_zenoh_sample_Locality_Any() { use zonda::sample::Locality::Any as _; }
fn variant_zenoh_sample_Locality_Remote() { use zonda::sample::Locality::Remote as _; }
fn variant_zenoh_sample_Locality_SessionLocal() { use zonda::sample::Locality::SessionLocal as _; }
fn struct_zenoh_sample_Sample() { use zonda::sample::Sample as _; }
fn method_zenoh_sample_Sample_attachment() { let _ = || used(<zonda::sample::Sample>::attachment(any())); }
fn method_zenoh_sample_Sample_attachment_mut() { let _ = || used(<zonda::sample::Sample>::attachment_mut(any())); }
fn method_zenoh_sample_Sample_congestion_control() { let _ = || used(<zonda::sample::Sample>::congestion_control(any())); }
fn method_zenoh_sample_Sample_encoding() { let _ = || used(<zonda::sample::Sample>::encoding(any())); }
fn method_zenoh_sample_Sample_express() { let _ = || used(<zonda::sample::Sample>::express(any())); }
fn method_zenoh_sample_Sample_key_expr() { let _ = || used(<zonda::sample::Sample>::key_expr(any())); }
fn method_zenoh_sample_Sample_kind() { let _ = || used(<zonda::sample::Sample>::kind(any())); }
fn method_zenoh_sample_Sample_payload() { let _ = || used(<zonda::sample::Sample>::payload(any())); }
fn method_zenoh_sample_Sample_payload_mut() { let _ = || used(<zonda::sample::Sample>::payload_mut(any())); }
fn method_zenoh_sample_Sample_priority() { let _ = || used(<zonda::sample::Sample>::priority(any())); }
fn method_zenoh_sample_Sample_reliability() { let _ = || used(<zonda::sample::Sample>::reliability(any())); }
fn method_zenoh_sample_Sample_source_info() { let _ = || used(<zonda::sample::Sample>::source_info(any())); }
fn method_zenoh_sample_Sample_timestamp() { let _ = || used(<zonda::sample::Sample>::timestamp(any())); }
fn method_zenoh_sample_Sample_timestamp_stack() { let _ = || used(<zonda::sample::Sample>::timestamp_stack(any())); }
fn struct_zenoh_sample_SampleBuilder() { use zonda::sample::SampleBuilder as _; }
fn method_zenoh_sample_SampleBuilder_attachment() { let _ = || used(<zonda::sample::SampleBuilder<zonda::sample::SampleBuilderPut>>::attachment(any(), "a")); }
fn method_zenoh_sample_SampleBuilder_congestion_control() { let _ = || used(<zonda::sample::SampleBuilder<zonda::sample::SampleBuilderPut>>::congestion_control(any(), any())); }
fn method_zenoh_sample_SampleBuilder_delete() { let _ = || used(zonda::sample::SampleBuilder::delete(any::<zonda::key_expr::KeyExpr<'static>>())); }
fn method_zenoh_sample_SampleBuilder_encoding() { let _ = || used(<zonda::sample::SampleBuilder<zonda::sample::SampleBuilderPut>>::encoding(any(), "a")); }
fn method_zenoh_sample_SampleBuilder_express() { let _ = || used(<zonda::sample::SampleBuilder<zonda::sample::SampleBuilderPut>>::express(any(), any())); }
fn method_zenoh_sample_SampleBuilder_keyexpr() { let _ = || used(<zonda::sample::SampleBuilder<zonda::sample::SampleBuilderPut>>::keyexpr(any(), any::<zonda::key_expr::KeyExpr<'static>>())); }
fn method_zenoh_sample_SampleBuilder_payload() { let _ = || used(<zonda::sample::SampleBuilder<zonda::sample::SampleBuilderPut>>::payload(any(), "a")); }
fn method_zenoh_sample_SampleBuilder_priority() { let _ = || used(<zonda::sample::SampleBuilder<zonda::sample::SampleBuilderPut>>::priority(any(), any())); }
fn method_zenoh_sample_SampleBuilder_put() { let _ = || used(<zonda::sample::SampleBuilder<zonda::sample::SampleBuilderPut>>::put(any::<zonda::key_expr::KeyExpr<'static>>(), "a")); }
fn method_zenoh_sample_SampleBuilder_reliability() { let _ = || used(<zonda::sample::SampleBuilder<zonda::sample::SampleBuilderPut>>::reliability(any(), any())); }
fn method_zenoh_sample_SampleBuilder_source_info() { let _ = || used(<zonda::sample::SampleBuilder<zonda::sample::SampleBuilderPut>>::source_info(any(), None)); }
fn method_zenoh_sample_SampleBuilder_timestamp() { let _ = || used(<zonda::sample::SampleBuilder<zonda::sample::SampleBuilderPut>>::timestamp(any(), None)); }
fn method_zenoh_sample_SampleBuilder_timestamp_instrumentation() { let _ = || used(<zonda::sample::SampleBuilder<zonda::sample::SampleBuilderPut>>::timestamp_instrumentation(any(), None)); }
fn struct_zenoh_sample_SampleBuilderAny() { use zonda::sample::SampleBuilderAny as _; }
fn struct_zenoh_sample_SampleBuilderDelete() { use zonda::sample::SampleBuilderDelete as _; }
fn struct_zenoh_sample_SampleBuilderPut() { use zonda::sample::SampleBuilderPut as _; }
fn struct_zenoh_sample_SampleFields() { use zonda::sample::SampleFields as _; }
fn field_zenoh_sample_SampleFields_attachment() { let _ = |it: zonda::sample::SampleFields| used(it.attachment); }
fn field_zenoh_sample_SampleFields_congestion_control() { let _ = |it: zonda::sample::SampleFields| used(it.congestion_control); }
fn field_zenoh_sample_SampleFields_encoding() { let _ = |it: zonda::sample::SampleFields| used(it.encoding); }
fn field_zenoh_sample_SampleFields_express() { let _ = |it: zonda::sample::SampleFields| used(it.express); }
fn field_zenoh_sample_SampleFields_key_expr() { let _ = |it: zonda::sample::SampleFields| used(it.key_expr); }
fn field_zenoh_sample_SampleFields_kind() { let _ = |it: zonda::sample::SampleFields| used(it.kind); }
fn field_zenoh_sample_SampleFields_payload() { let _ = |it: zonda::sample::SampleFields| used(it.payload); }
fn field_zenoh_sample_SampleFields_priority() { let _ = |it: zonda::sample::SampleFields| used(it.priority); }
fn field_zenoh_sample_SampleFields_reliability() { let _ = |it: zonda::sample::SampleFields| used(it.reliability); }
fn field_zenoh_sample_SampleFields_source_info() { let _ = |it: zonda::sample::SampleFields| used(it.source_info); }
fn field_zenoh_sample_SampleFields_timestamp() { let _ = |it: zonda::sample::SampleFields| used(it.timestamp); }
fn field_zenoh_sample_SampleFields_timestamp_stack() { let _ = |it: zonda::sample::SampleFields| used(it.timestamp_stack); }
fn enum_zenoh_sample_SampleKind() { use zonda::sample::SampleKind as _; }
fn variant_zenoh_sample_SampleKind_Delete() { use zonda::sample::SampleKind::Delete as _; }
fn variant_zenoh_sample_SampleKind_Put() { use zonda::sample::SampleKind::Put as _; }
fn struct_zenoh_sample_SourceInfo() { use zonda::sample::SourceInfo as _; }
fn method_zenoh_sample_SourceInfo_new() { let _ = || used(<zonda::sample::SourceInfo>::new(any(), any())); }
fn method_zenoh_sample_SourceInfo_source_id() { let _ = || used(<zonda::sample::SourceInfo>::source_id(any())); }
fn method_zenoh_sample_SourceInfo_source_sn() { let _ = || used(<zonda::sample::SourceInfo>::source_sn(any())); }
fn type_zenoh_sample_SourceSn() { use zonda::sample::SourceSn as _; }
fn alias_zenoh_scout() { use zonda::scout as _; }
fn module_zenoh_scouting() { use zonda::scouting as _; }
fn struct_zenoh_scouting_Hello() { use zonda::scouting::Hello as _; }
fn method_zenoh_scouting_Hello_locators() { let _ = || used(<zonda::scouting::Hello>::locators(any())); }
fn method_zenoh_scouting_Hello_locators_iter() { let _ = || used(<zonda::scouting::Hello>::locators_iter(any())); }
fn method_zenoh_scouting_Hello_whatami() { let _ = || used(<zonda::scouting::Hello>::whatami(any())); }
fn method_zenoh_scouting_Hello_zid() { let _ = || used(<zonda::scouting::Hello>::zid(any())); }
fn struct_zenoh_scouting_Scout() { use zonda::scouting::Scout as _; }
fn method_zenoh_scouting_Scout_stop() { let _ = || used(<zonda::scouting::Scout<FifoChannelHandler<zonda::scouting::Hello>>>::stop(any())); }
fn struct_zenoh_scouting_ScoutBuilder() { use zonda::scouting::ScoutBuilder as _; }
fn method_zenoh_scouting_ScoutBuilder_callback() { let _ = || used(<zonda::scouting::ScoutBuilder<DefaultHandler>>::callback(any(), |_| ())); }
fn method_zenoh_scouting_ScoutBuilder_callback_mut() { let _ = || used(<zonda::scouting::ScoutBuilder<DefaultHandler>>::callback_mut(any(), |_| ())); }
fn method_zenoh_scouting_ScoutBuilder_with() { let _ = || used(<zonda::scouting::ScoutBuilder<DefaultHandler>>::with(any(), DefaultHandler::default())); }
fn function_zenoh_scouting_scout() { use zonda::scouting::scout as _; }
fn module_zenoh_session() { use zonda::session as _; }
fn struct_zenoh_session_CloseBuilder() { use zonda::session::CloseBuilder as _; }
fn method_zenoh_session_CloseBuilder_wait_callbacks() { let _ = || used(<zonda::session::CloseBuilder>::wait_callbacks(any())); }
fn struct_zenoh_session_EntityGlobalId() { use zonda::session::EntityGlobalId as _; }
fn method_zenoh_session_EntityGlobalId_eid() { let _ = || used(<zonda::session::EntityGlobalId>::eid(any())); }
fn method_zenoh_session_EntityGlobalId_zid() { let _ = || used(<zonda::session::EntityGlobalId>::zid(any())); }
fn type_zenoh_session_EntityId() { use zonda::session::EntityId as _; }
fn struct_zenoh_session_Link() { use zonda::session::Link as _; }
fn method_zenoh_session_Link_auth_identifier() { trait Here { fn auth_identifier() -> Absent { Absent } } impl<T: ?Sized> Here for T {} let _: fn() -> Absent = <zonda::session::Link>::auth_identifier; }
fn method_zenoh_session_Link_dst() { let _ = || used(<zonda::session::Link>::dst(any())); }
fn method_zenoh_session_Link_group() { trait Here { fn group() -> Absent { Absent } } impl<T: ?Sized> Here for T {} let _: fn() -> Absent = <zonda::session::Link>::group; }
fn method_zenoh_session_Link_interfaces() { trait Here { fn interfaces() -> Absent { Absent } } impl<T: ?Sized> Here for T {} let _: fn() -> Absent = <zonda::session::Link>::interfaces; }
fn method_zenoh_session_Link_interfaces_iter() { trait Here { fn interfaces_iter() -> Absent { Absent } } impl<T: ?Sized> Here for T {} let _: fn() -> Absent = <zonda::session::Link>::interfaces_iter; }
fn method_zenoh_session_Link_is_streamed() { let _ = || used(<zonda::session::Link>::is_streamed(any())); }
fn method_zenoh_session_Link_mtu() { let _ = || used(<zonda::session::Link>::mtu(any())); }
fn method_zenoh_session_Link_priorities() { let _ = || used(<zonda::session::Link>::priorities(any())); }
fn method_zenoh_session_Link_reliability() { let _ = || used(<zonda::session::Link>::reliability(any())); }
fn method_zenoh_session_Link_src() { let _ = || used(<zonda::session::Link>::src(any())); }
fn method_zenoh_session_Link_zid() { let _ = || used(<zonda::session::Link>::zid(any())); }
fn struct_zenoh_session_LinkEvent() { use zonda::session::LinkEvent as _; }
fn method_zenoh_session_LinkEvent_kind() { let _ = || used(<zonda::session::LinkEvent>::kind(any())); }
fn method_zenoh_session_LinkEvent_link() { let _ = || used(<zonda::session::LinkEvent>::link(any())); }
fn method_zenoh_session_LinkEvent_link_mut() { let _ = || used(<zonda::session::LinkEvent>::link_mut(any())); }
fn struct_zenoh_session_LinkEventsListener() { use zonda::session::LinkEventsListener as _; }
fn method_zenoh_session_LinkEventsListener_handler() { let _ = || used(<zonda::session::LinkEventsListener<FifoChannelHandler<zonda::session::LinkEvent>>>::handler(any())); }
fn method_zenoh_session_LinkEventsListener_handler_mut() { let _ = || used(<zonda::session::LinkEventsListener<FifoChannelHandler<zonda::session::LinkEvent>>>::handler_mut(any())); }
fn method_zenoh_session_LinkEventsListener_undeclare() { let _ = || used(<zonda::session::LinkEventsListener<FifoChannelHandler<zonda::session::LinkEvent>>>::undeclare(any())); }
fn struct_zenoh_session_LinkEventsListenerBuilder() { use zonda::session::LinkEventsListenerBuilder as _; }
fn method_zenoh_session_LinkEventsListenerBuilder_background() { let _ = || used(<zonda::session::LinkEventsListenerBuilder<'static, zonda::handlers::Callback<zonda::session::LinkEvent>>>::background(any())); }
fn method_zenoh_session_LinkEventsListenerBuilder_callback() { let _ = || used(<zonda::session::LinkEventsListenerBuilder<'static, DefaultHandler>>::callback(any(), |_| ())); }
fn method_zenoh_session_LinkEventsListenerBuilder_callback_mut() { let _ = || used(<zonda::session::LinkEventsListenerBuilder<'static, DefaultHandler>>::callback_mut(any(), |_| ())); }
fn method_zenoh_session_LinkEventsListenerBuilder_history() { let _ = || used(<zonda::session::LinkEventsListenerBuilder<'static, DefaultHandler>>::history(any(), any())); }
fn method_zenoh_session_LinkEventsListenerBuilder_transport() { let _ = || used(<zonda::session::LinkEventsListenerBuilder<'static, DefaultHandler>>::transport(any(), any())); }
fn method_zenoh_session_LinkEventsListenerBuilder_with() { let _ = || used(<zonda::session::LinkEventsListenerBuilder<'static, DefaultHandler>>::with(any(), DefaultHandler::default())); }
fn struct_zenoh_session_LinkEventsListenerUndeclaration() { mod other { pub type LinkEventsListenerUndeclaration = (); } use other::*; use zonda::session::*; let _: LinkEventsListenerUndeclaration; }
fn struct_zenoh_session_LinksBuilder() { mod other { pub type LinksBuilder = (); } use other::*; use zonda::session::*; let _: LinksBuilder; }
fn method_zenoh_session_LinksBuilder_transport() { let _ = |session: Session, it: zonda::session::Transport| used(session.info().links().transport(it)); }
fn struct_zenoh_session_OpenBuilder() { use zonda::session::OpenBuilder as _; }
fn method_zenoh_session_OpenBuilder_with_timestamp_callback() { let _ = || used(<zonda::session::OpenBuilder>::with_timestamp_callback(any(), |_| Vec::new())); }
fn struct_zenoh_session_PeersZenohIdBuilder() { mod other { pub type PeersZenohIdBuilder = (); } use other::*; use zonda::session::*; let _: PeersZenohIdBuilder; }
fn struct_zenoh_session_RoutersZenohIdBuilder() { mod other { pub type RoutersZenohIdBuilder = (); } use other::*; use zonda::session::*; let _: RoutersZenohIdBuilder; }
fn struct_zenoh_session_Session() { use zonda::session::Session as _; }
fn method_zenoh_session_Session_close() { let _ = || used(<zonda::session::Session>::close(any())); }
fn method_zenoh_session_Session_config() { let _ = || used(<zonda::session::Session>::config(any())); }
fn method_zenoh_session_Session_declare_keyexpr() { let _ = || used(<zonda::session::Session>::declare_keyexpr(any(), "a")); }
fn method_zenoh_session_Session_declare_publisher() { let _ = || used(<zonda::session::Session>::declare_publisher(any(), "a")); }
fn method_zenoh_session_Session_declare_querier() { let _ = || used(<zonda::session::Session>::declare_querier(any(), "a")); }
fn method_zenoh_session_Session_declare_queryable() { let _ = || used(<zonda::session::Session>::declare_queryable(any(), "a")); }
fn method_zenoh_session_Session_declare_subscriber() { let _ = || used(<zonda::session::Session>::declare_subscriber(any(), "a")); }
fn method_zenoh_session_Session_delete() { let _ = || used(<zonda::session::Session>::delete(any(), "a")); }
fn method_zenoh_session_Session_get() { let _ = || used(<zonda::session::Session>::get(any(), "a")); }
fn method_zenoh_session_Session_id() { let _ = || used(<zonda::session::Session>::id(any())); }
fn method_zenoh_session_Session_info() { let _ = || used(<zonda::session::Session>::info(any())); }
fn method_zenoh_session_Session_is_closed() { let _ = || used(<zonda::session::Session>::is_closed(any())); }
fn method_zenoh_session_Session_liveliness() { let _ = || used(<zonda::session::Session>::liveliness(any())); }
fn method_zenoh_session_Session_new_timestamp() { let _ = || used(<zonda::session::Session>::new_timestamp(any())); }
fn method_zenoh_session_Session_put() { let _ = || used(<zonda::session::Session>::put(any(), "a", "a")); }
fn method_zenoh_session_Session_undeclare() { let _ = || used(<zonda::session::Session>::undeclare(any(), any::<zonda::pubsub::Subscriber>())); }
fn method_zenoh_session_Session_zid() { let _ = || used(<zonda::session::Session>::zid(any())); }
fn struct_zenoh_session_SessionClosedError() { use zonda::session::SessionClosedError as _; }
fn type_zenoh_session_SessionDeleteBuilder() { use zonda::session::SessionDeleteBuilder as _; }
fn struct_zenoh_session_SessionGetBuilder() { use zonda::session::SessionGetBuilder as _; }
fn method_zenoh_session_SessionGetBuilder_accept_replies() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::accept_replies(any(), any())); }
fn method_zenoh_session_SessionGetBuilder_allowed_destination() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::allowed_destination(any(), any())); }
fn method_zenoh_session_SessionGetBuilder_attachment() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::attachment(any(), "a")); }
fn method_zenoh_session_SessionGetBuilder_callback() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::callback(any(), |_| ())); }
fn method_zenoh_session_SessionGetBuilder_callback_mut() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::callback_mut(any(), |_| ())); }
fn method_zenoh_session_SessionGetBuilder_cancellation_token() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::cancellation_token(any(), any())); }
fn method_zenoh_session_SessionGetBuilder_congestion_control() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::congestion_control(any(), any())); }
fn method_zenoh_session_SessionGetBuilder_consolidation() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::consolidation(any(), zonda::query::ConsolidationMode::None)); }
fn method_zenoh_session_SessionGetBuilder_encoding() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::encoding(any(), "a")); }
fn method_zenoh_session_SessionGetBuilder_express() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::express(any(), any())); }
fn method_zenoh_session_SessionGetBuilder_payload() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::payload(any(), "a")); }
fn method_zenoh_session_SessionGetBuilder_priority() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::priority(any(), any())); }
fn method_zenoh_session_SessionGetBuilder_source_info() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::source_info(any(), None)); }
fn method_zenoh_session_SessionGetBuilder_target() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::target(any(), any())); }
fn method_zenoh_session_SessionGetBuilder_timeout() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::timeout(any(), any())); }
fn method_zenoh_session_SessionGetBuilder_timestamp_instrumentation() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::timestamp_instrumentation(any(), None)); }
fn method_zenoh_session_SessionGetBuilder_with() { let _ = || used(<zonda::session::SessionGetBuilder<'static, 'static, DefaultHandler>>::with(any(), DefaultHandler::default())); }
fn struct_zenoh_session_SessionInfo() { use zonda::session::SessionInfo as _; }
fn method_zenoh_session_SessionInfo_link_events_listener() { let _ = || used(<zonda::session::SessionInfo>::link_events_listener(any())); }
fn method_zenoh_session_SessionInfo_links() { let _ = || used(<zonda::session::SessionInfo>::links(any())); }
fn method_zenoh_session_SessionInfo_locators() { let _ = || used(<zonda::session::SessionInfo>::locators(any())); }
fn method_zenoh_session_SessionInfo_peers_zid() { let _ = || used(<zonda::session::SessionInfo>::peers_zid(any())); }
fn method_zenoh_session_SessionInfo_routers_zid() { let _ = || used(<zonda::session::SessionInfo>::routers_zid(any())); }
fn method_zenoh_session_SessionInfo_transport_events_listener() { let _ = || used(<zonda::session::SessionInfo>::transport_events_listener(any())); }
fn method_zenoh_session_SessionInfo_transports() { let _ = || used(<zonda::session::SessionInfo>::transports(any())); }
fn method_zenoh_session_SessionInfo_zid() { let _ = || used(<zonda::session::SessionInfo>::zid(any())); }
fn type_zenoh_session_SessionPutBuilder() { use zonda::session::SessionPutBuilder as _; }
fn struct_zenoh_session_Transport() { use zonda::session::Transport as _; }
fn method_zenoh_session_Transport_is_multicast() { let _ = || used(<zonda::session::Transport>::is_multicast(any())); }
fn method_zenoh_session_Transport_is_qos() { let _ = || used(<zonda::session::Transport>::is_qos(any())); }
fn method_zenoh_session_Transport_whatami() { let _ = || used(<zonda::session::Transport>::whatami(any())); }
fn method_zenoh_session_Transport_zid() { let _ = || used(<zonda::session::Transport>::zid(any())); }
fn struct_zenoh_session_TransportEvent() { use zonda::session::TransportEvent as _; }
fn method_zenoh_session_TransportEvent_kind() { let _ = || used(<zonda::session::TransportEvent>::kind(any())); }
fn method_zenoh_session_TransportEvent_transport() { let _ = || used(<zonda::session::TransportEvent>::transport(any())); }
fn method_zenoh_session_TransportEvent_transport_mut() { let _ = || used(<zonda::session::TransportEvent>::transport_mut(any())); }
fn struct_zenoh_session_TransportEventsListener() { use zonda::session::TransportEventsListener as _; }
fn method_zenoh_session_TransportEventsListener_handler() { let _ = || used(<zonda::session::TransportEventsListener<FifoChannelHandler<zonda::session::TransportEvent>>>::handler(any())); }
fn method_zenoh_session_TransportEventsListener_handler_mut() { let _ = || used(<zonda::session::TransportEventsListener<FifoChannelHandler<zonda::session::TransportEvent>>>::handler_mut(any())); }
fn method_zenoh_session_TransportEventsListener_undeclare() { let _ = || used(<zonda::session::TransportEventsListener<FifoChannelHandler<zonda::session::TransportEvent>>>::undeclare(any())); }
fn struct_zenoh_session_TransportEventsListenerBuilder() { use zonda::session::TransportEventsListenerBuilder as _; }
fn method_zenoh_session_TransportEventsListenerBuilder_background() { let _ = || used(<zonda::session::TransportEventsListenerBuilder<'static, zonda::handlers::Callback<zonda::session::TransportEvent>>>::background(any())); }
fn method_zenoh_session_TransportEventsListenerBuilder_callback() { let _ = || used(<zonda::session::TransportEventsListenerBuilder<'static, DefaultHandler>>::callback(any(), |_| ())); }
fn method_zenoh_session_TransportEventsListenerBuilder_callback_mut() { let _ = || used(<zonda::session::TransportEventsListenerBuilder<'static, DefaultHandler>>::callback_mut(any(), |_| ())); }
fn method_zenoh_session_TransportEventsListenerBuilder_history() { let _ = || used(<zonda::session::TransportEventsListenerBuilder<'static, DefaultHandler>>::history(any(), any())); }
fn method_zenoh_session_TransportEventsListenerBuilder_with() { let _ = || used(<zonda::session::TransportEventsListenerBuilder<'static, DefaultHandler>>::with(any(), DefaultHandler::default())); }
fn struct_zenoh_session_TransportEventsListenerUndeclaration() { mod other { pub type TransportEventsListenerUndeclaration = (); } use other::*; use zonda::session::*; let _: TransportEventsListenerUndeclaration; }
fn struct_zenoh_session_TransportsBuilder() { mod other { pub type TransportsBuilder = (); } use other::*; use zonda::session::*; let _: TransportsBuilder; }
fn trait_zenoh_session_Undeclarable() { use zonda::session::Undeclarable as _; }
fn alias_zenoh_session_ZenohId() { use zonda::session::ZenohId as _; }
fn struct_zenoh_session_ZenohIdBuilder() { mod other { pub type ZenohIdBuilder = (); } use other::*; use zonda::session::*; let _: ZenohIdBuilder; }
fn function_zenoh_session_open() { use zonda::session::open as _; }
fn module_zenoh_time() { use zonda::time as _; }
fn struct_zenoh_time_NTP64() { use zonda::time::NTP64 as _; }
fn method_zenoh_time_NTP64_as_nanos() { let _ = || used(<zonda::time::NTP64>::as_nanos(any())); }
fn method_zenoh_time_NTP64_as_secs() { let _ = || used(<zonda::time::NTP64>::as_secs(any())); }
fn method_zenoh_time_NTP64_as_secs_f64() { let _ = || used(<zonda::time::NTP64>::as_secs_f64(any())); }
fn method_zenoh_time_NTP64_as_u64() { let _ = || used(<zonda::time::NTP64>::as_u64(any())); }
fn method_zenoh_time_NTP64_parse_rfc3339() { trait Here { fn parse_rfc3339() -> Absent { Absent } } impl<T: ?Sized> Here for T {} let _: fn() -> Absent = <zonda::time::NTP64>::parse_rfc3339; }
fn method_zenoh_time_NTP64_subsec_nanos() { let _ = || used(<zonda::time::NTP64>::subsec_nanos(any())); }
fn method_zenoh_time_NTP64_to_duration() { let _ = || used(<zonda::time::NTP64>::to_duration(any())); }
fn method_zenoh_time_NTP64_to_string_rfc3339_lossy() { let _ = || used(<zonda::time::NTP64>::to_string_rfc3339_lossy(any())); }
fn method_zenoh_time_NTP64_to_system_time() { let _ = || used(<zonda::time::NTP64>::to_system_time(any())); }
fn struct_zenoh_time_Timestamp() { use zonda::time::Timestamp as _; }
fn method_zenoh_time_Timestamp_get_diff_duration() { let _ = || used(<zonda::time::Timestamp>::get_diff_duration(any(), any())); }
fn method_zenoh_time_Timestamp_get_id() { let _ = || used(<zonda::time::Timestamp>::get_id(any())); }
fn method_zenoh_time_Timestamp_get_time() { let _ = || used(<zonda::time::Timestamp>::get_time(any())); }
fn method_zenoh_time_Timestamp_new() { let _ = || used(<zonda::time::Timestamp>::new(any(), any())); }
fn method_zenoh_time_Timestamp_parse_rfc3339() { trait Here { fn parse_rfc3339() -> Absent { Absent } } impl<T: ?Sized> Here for T {} let _: fn() -> Absent = <zonda::time::Timestamp>::parse_rfc3339; }
fn method_zenoh_time_Timestamp_to_string_rfc3339_lossy() { let _ = || used(<zonda::time::Timestamp>::to_string_rfc3339_lossy(any())); }
fn type_zenoh_time_TimestampId() { use zonda::time::TimestampId as _; }
fn module_zenoh_timestamp_stack() { use zonda::timestamp_stack as _; }
fn enum_zenoh_timestamp_stack_InstrumentationTimestamp() { use zonda::timestamp_stack::InstrumentationTimestamp as _; }
fn variant_zenoh_timestamp_stack_InstrumentationTimestamp_Custom() { use zonda::timestamp_stack::InstrumentationTimestamp::Custom as _; }
fn variant_zenoh_timestamp_stack_InstrumentationTimestamp_UHLC() { use zonda::timestamp_stack::InstrumentationTimestamp::UHLC as _; }
fn enum_zenoh_timestamp_stack_InterceptionPoint() { use zonda::timestamp_stack::InterceptionPoint as _; }
fn variant_zenoh_timestamp_stack_InterceptionPoint_Receive() { use zonda::timestamp_stack::InterceptionPoint::Receive as _; }
fn variant_zenoh_timestamp_stack_InterceptionPoint_Route() { use zonda::timestamp_stack::InterceptionPoint::Route as _; }
fn variant_zenoh_timestamp_stack_InterceptionPoint_Send() { use zonda::timestamp_stack::InterceptionPoint::Send as _; }
fn struct_zenoh_timestamp_stack_TimestampContext() { use zonda::timestamp_stack::TimestampContext as _; }
fn field_zenoh_timestamp_stack_TimestampContext_whatami() { let _ = |it: zonda::timestamp_stack::TimestampContext| used(it.whatami); }
fn field_zenoh_timestamp_stack_TimestampContext_zid() { let _ = |it: zonda::timestamp_stack::TimestampContext| used(it.zid); }
fn struct_zenoh_timestamp_stack_TimestampInstrumentation() { use zonda::timestamp_stack::TimestampInstrumentation as _; }
fn method_zenoh_timestamp_stack_TimestampInstrumentation_is_instrumented() { let _ = || used(<zonda::timestamp_stack::TimestampInstrumentation>::is_instrumented(any(), any())); }
fn struct_zenoh_timestamp_stack_TimestampInstrumentationBuilder() { use zonda::timestamp_stack::TimestampInstrumentationBuilder as _; }
fn method_zenoh_timestamp_stack_TimestampInstrumentationBuilder_build() { let _ = || used(<zonda::timestamp_stack::TimestampInstrumentationBuilder>::build(any())); }
fn method_zenoh_timestamp_stack_TimestampInstrumentationBuilder_new() { let _ = || used(<zonda::timestamp_stack::TimestampInstrumentationBuilder>::new()); }
fn method_zenoh_timestamp_stack_TimestampInstrumentationBuilder_set_receive() { let _ = || used(<zonda::timestamp_stack::TimestampInstrumentationBuilder>::set_receive(any(), any())); }
fn method_zenoh_timestamp_stack_TimestampInstrumentationBuilder_set_route() { let _ = || used(<zonda::timestamp_stack::TimestampInstrumentationBuilder>::set_route(any(), any())); }
fn method_zenoh_timestamp_stack_TimestampInstrumentationBuilder_set_send() { let _ = || used(<zonda::timestamp_stack::TimestampInstrumentationBuilder>::set_send(any(), any())); }
fn struct_zenoh_timestamp_stack_TimestampStack() { use zonda::timestamp_stack::TimestampStack as _; }
fn method_zenoh_timestamp_stack_TimestampStack_instrumentation() { let _ = || used(<zonda::timestamp_stack::TimestampStack>::instrumentation(any())); }
fn method_zenoh_timestamp_stack_TimestampStack_records() { let _ = || used(<zonda::timestamp_stack::TimestampStack>::records(any())); }
fn struct_zenoh_timestamp_stack_TimestampStackRecord() { use zonda::timestamp_stack::TimestampStackRecord as _; }
fn method_zenoh_timestamp_stack_TimestampStackRecord_is_custom() { let _ = || used(<zonda::timestamp_stack::TimestampStackRecord>::is_custom(any())); }
fn method_zenoh_timestamp_stack_TimestampStackRecord_point() { let _ = || used(<zonda::timestamp_stack::TimestampStackRecord>::point(any())); }
fn method_zenoh_timestamp_stack_TimestampStackRecord_timestamp() { let _ = || used(<zonda::timestamp_stack::TimestampStackRecord>::timestamp(any())); }
fn function_zenoh_try_init_log_from_env() { use zonda::try_init_log_from_env as _; }
