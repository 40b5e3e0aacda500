// SPDX-License-Identifier: MIT OR Apache-2.0

//! Probes, written by `ZONDA_WRITE_DOCS=1 cargo test -p zonda-command --test tidy api`.

use super::*;

fn struct_zenoh_ext_AdvancedPublicationBuilder() { use zonda::ext::AdvancedPublicationBuilder as _; }
fn method_zenoh_ext_AdvancedPublicationBuilder_attachment() { let _ = || used(<zonda::ext::AdvancedPublisherPutBuilder<'static>>::attachment(any(), "a")); }
fn method_zenoh_ext_AdvancedPublicationBuilder_encoding() { let _ = || used(<zonda::ext::AdvancedPublisherPutBuilder<'static>>::encoding(any(), "a")); }
fn method_zenoh_ext_AdvancedPublicationBuilder_timestamp() { let _ = || used(<zonda::ext::AdvancedPublisherPutBuilder<'static>>::timestamp(any(), None)); }
fn method_zenoh_ext_AdvancedPublicationBuilder_timestamp_instrumentation() { let _ = || used(<zonda::ext::AdvancedPublisherPutBuilder<'static>>::timestamp_instrumentation(any(), None)); }
fn struct_zenoh_ext_AdvancedPublisher() { use zonda::ext::AdvancedPublisher as _; }
fn method_zenoh_ext_AdvancedPublisher_congestion_control() { let _ = || used(<zonda::ext::AdvancedPublisher>::congestion_control(any())); }
fn method_zenoh_ext_AdvancedPublisher_delete() { let _ = || used(<zonda::ext::AdvancedPublisher>::delete(any())); }
fn method_zenoh_ext_AdvancedPublisher_encoding() { let _ = || used(<zonda::ext::AdvancedPublisher>::encoding(any())); }
fn method_zenoh_ext_AdvancedPublisher_id() { let _ = || used(<zonda::ext::AdvancedPublisher>::id(any())); }
fn method_zenoh_ext_AdvancedPublisher_key_expr() { let _ = || used(<zonda::ext::AdvancedPublisher>::key_expr(any())); }
fn method_zenoh_ext_AdvancedPublisher_matching_listener() { let _ = || used(<zonda::ext::AdvancedPublisher>::matching_listener(any())); }
fn method_zenoh_ext_AdvancedPublisher_matching_status() { let _ = || used(<zonda::ext::AdvancedPublisher>::matching_status(any())); }
fn method_zenoh_ext_AdvancedPublisher_priority() { let _ = || used(<zonda::ext::AdvancedPublisher>::priority(any())); }
fn method_zenoh_ext_AdvancedPublisher_put() { let _ = || used(<zonda::ext::AdvancedPublisher>::put(any(), "a")); }
fn method_zenoh_ext_AdvancedPublisher_undeclare() { let _ = || used(<zonda::ext::AdvancedPublisher>::undeclare(any())); }
fn struct_zenoh_ext_AdvancedPublisherBuilder() { use zonda::ext::AdvancedPublisherBuilder as _; }
fn method_zenoh_ext_AdvancedPublisherBuilder_allowed_destination() { let _ = || used(<zonda::ext::AdvancedPublisherBuilder>::allowed_destination(any(), any())); }
fn method_zenoh_ext_AdvancedPublisherBuilder_cache() { let _ = || used(<zonda::ext::AdvancedPublisherBuilder>::cache(any(), any())); }
fn method_zenoh_ext_AdvancedPublisherBuilder_congestion_control() { let _ = || used(<zonda::ext::AdvancedPublisherBuilder>::congestion_control(any(), any())); }
fn method_zenoh_ext_AdvancedPublisherBuilder_encoding() { let _ = || used(<zonda::ext::AdvancedPublisherBuilder>::encoding(any(), "a")); }
fn method_zenoh_ext_AdvancedPublisherBuilder_express() { let _ = || used(<zonda::ext::AdvancedPublisherBuilder>::express(any(), any())); }
fn method_zenoh_ext_AdvancedPublisherBuilder_priority() { let _ = || used(<zonda::ext::AdvancedPublisherBuilder>::priority(any(), any())); }
fn method_zenoh_ext_AdvancedPublisherBuilder_publisher_detection() { let _ = || used(<zonda::ext::AdvancedPublisherBuilder>::publisher_detection(any())); }
fn method_zenoh_ext_AdvancedPublisherBuilder_publisher_detection_metadata() { let _ = || used(<zonda::ext::AdvancedPublisherBuilder>::publisher_detection_metadata(any(), "a")); }
fn method_zenoh_ext_AdvancedPublisherBuilder_reliability() { let _ = || used(<zonda::ext::AdvancedPublisherBuilder>::reliability(any(), any())); }
fn method_zenoh_ext_AdvancedPublisherBuilder_sample_miss_detection() { let _ = || used(<zonda::ext::AdvancedPublisherBuilder>::sample_miss_detection(any(), any())); }
fn trait_zenoh_ext_AdvancedPublisherBuilderExt() { use zonda::ext::AdvancedPublisherBuilderExt as _; }
fn method_zenoh_ext_AdvancedPublisherBuilderExt_advanced() { let _ = || used(<zonda::pubsub::PublisherBuilder<'static, 'static> as zonda::ext::AdvancedPublisherBuilderExt<'static, 'static, 'static>>::advanced(any())); }
fn method_zenoh_ext_AdvancedPublisherBuilderExt_cache() { let _ = || used(<zonda::pubsub::PublisherBuilder<'static, 'static> as zonda::ext::AdvancedPublisherBuilderExt<'static, 'static, 'static>>::cache(any(), any())); }
fn method_zenoh_ext_AdvancedPublisherBuilderExt_publisher_detection() { let _ = || used(<zonda::pubsub::PublisherBuilder<'static, 'static> as zonda::ext::AdvancedPublisherBuilderExt<'static, 'static, 'static>>::publisher_detection(any())); }
fn method_zenoh_ext_AdvancedPublisherBuilderExt_sample_miss_detection() { let _ = || used(<zonda::pubsub::PublisherBuilder<'static, 'static> as zonda::ext::AdvancedPublisherBuilderExt<'static, 'static, 'static>>::sample_miss_detection(any(), any())); }
fn type_zenoh_ext_AdvancedPublisherDeleteBuilder() { use zonda::ext::AdvancedPublisherDeleteBuilder as _; }
fn type_zenoh_ext_AdvancedPublisherPutBuilder() { use zonda::ext::AdvancedPublisherPutBuilder as _; }
fn struct_zenoh_ext_AdvancedSubscriber() { use zonda::ext::AdvancedSubscriber as _; }
fn method_zenoh_ext_AdvancedSubscriber_detect_publishers() { let _ = || used(<zonda::ext::AdvancedSubscriber<FifoChannelHandler<Sample>>>::detect_publishers(any())); }
fn method_zenoh_ext_AdvancedSubscriber_handler() { let _ = || used(<zonda::ext::AdvancedSubscriber<FifoChannelHandler<Sample>>>::handler(any())); }
fn method_zenoh_ext_AdvancedSubscriber_handler_mut() { let _ = || used(<zonda::ext::AdvancedSubscriber<FifoChannelHandler<Sample>>>::handler_mut(any())); }
fn method_zenoh_ext_AdvancedSubscriber_id() { let _ = || used(<zonda::ext::AdvancedSubscriber<FifoChannelHandler<Sample>>>::id(any())); }
fn method_zenoh_ext_AdvancedSubscriber_key_expr() { let _ = || used(<zonda::ext::AdvancedSubscriber<FifoChannelHandler<Sample>>>::key_expr(any())); }
fn method_zenoh_ext_AdvancedSubscriber_sample_miss_listener() { let _ = || used(<zonda::ext::AdvancedSubscriber<FifoChannelHandler<Sample>>>::sample_miss_listener(any())); }
fn method_zenoh_ext_AdvancedSubscriber_undeclare() { let _ = || used(<zonda::ext::AdvancedSubscriber<FifoChannelHandler<Sample>>>::undeclare(any())); }
fn struct_zenoh_ext_AdvancedSubscriberBuilder() { use zonda::ext::AdvancedSubscriberBuilder as _; }
fn method_zenoh_ext_AdvancedSubscriberBuilder_allowed_origin() { let _ = || used(<zonda::ext::AdvancedSubscriberBuilder<'static, 'static, 'static, DefaultHandler>>::allowed_origin(any(), any())); }
fn method_zenoh_ext_AdvancedSubscriberBuilder_background() { let _ = || used(<zonda::ext::AdvancedSubscriberBuilder<'static, 'static, 'static, zonda::handlers::Callback<Sample>>>::background(any())); }
fn method_zenoh_ext_AdvancedSubscriberBuilder_callback() { let _ = || used(<zonda::ext::AdvancedSubscriberBuilder<'static, 'static, 'static, DefaultHandler>>::callback(any(), |_| ())); }
fn method_zenoh_ext_AdvancedSubscriberBuilder_callback_mut() { let _ = || used(<zonda::ext::AdvancedSubscriberBuilder<'static, 'static, 'static, DefaultHandler>>::callback_mut(any(), |_| ())); }
fn method_zenoh_ext_AdvancedSubscriberBuilder_history() { let _ = || used(<zonda::ext::AdvancedSubscriberBuilder<'static, 'static, 'static, DefaultHandler>>::history(any(), any())); }
fn method_zenoh_ext_AdvancedSubscriberBuilder_query_timeout() { let _ = || used(<zonda::ext::AdvancedSubscriberBuilder<'static, 'static, 'static, DefaultHandler>>::query_timeout(any(), any())); }
fn method_zenoh_ext_AdvancedSubscriberBuilder_recovery() { let _ = || used(<zonda::ext::AdvancedSubscriberBuilder<'static, 'static, 'static, DefaultHandler>>::recovery(any(), any())); }
fn method_zenoh_ext_AdvancedSubscriberBuilder_subscriber_detection() { let _ = || used(<zonda::ext::AdvancedSubscriberBuilder<'static, 'static, 'static, DefaultHandler>>::subscriber_detection(any())); }
fn method_zenoh_ext_AdvancedSubscriberBuilder_subscriber_detection_metadata() { let _ = || used(<zonda::ext::AdvancedSubscriberBuilder<'static, 'static, 'static, DefaultHandler>>::subscriber_detection_metadata(any(), "a")); }
fn method_zenoh_ext_AdvancedSubscriberBuilder_with() { let _ = || used(<zonda::ext::AdvancedSubscriberBuilder<'static, 'static, 'static, DefaultHandler>>::with(any(), DefaultHandler::default())); }
fn trait_zenoh_ext_AdvancedSubscriberBuilderExt() { use zonda::ext::AdvancedSubscriberBuilderExt as _; }
fn method_zenoh_ext_AdvancedSubscriberBuilderExt_advanced() { let _ = || used(<zonda::pubsub::SubscriberBuilder<'static, 'static, DefaultHandler> as zonda::ext::AdvancedSubscriberBuilderExt<'static, 'static, 'static, DefaultHandler>>::advanced(any())); }
fn method_zenoh_ext_AdvancedSubscriberBuilderExt_history() { let _ = || used(<zonda::pubsub::SubscriberBuilder<'static, 'static, DefaultHandler> as zonda::ext::AdvancedSubscriberBuilderExt<'static, 'static, 'static, DefaultHandler>>::history(any(), any())); }
fn method_zenoh_ext_AdvancedSubscriberBuilderExt_recovery() { let _ = || used(<zonda::pubsub::SubscriberBuilder<'static, 'static, DefaultHandler> as zonda::ext::AdvancedSubscriberBuilderExt<'static, 'static, 'static, DefaultHandler>>::recovery(any(), any())); }
fn method_zenoh_ext_AdvancedSubscriberBuilderExt_subscriber_detection() { let _ = || used(<zonda::pubsub::SubscriberBuilder<'static, 'static, DefaultHandler> as zonda::ext::AdvancedSubscriberBuilderExt<'static, 'static, 'static, DefaultHandler>>::subscriber_detection(any())); }
fn struct_zenoh_ext_CacheConfig() { use zonda::ext::CacheConfig as _; }
fn method_zenoh_ext_CacheConfig_max_samples() { let _ = || used(<zonda::ext::CacheConfig>::max_samples(any(), any())); }
fn method_zenoh_ext_CacheConfig_replies_config() { let _ = || used(<zonda::ext::CacheConfig>::replies_config(any(), any())); }
fn trait_zenoh_ext_Deserialize() { use zonda::ext::Deserialize as _; }
fn method_zenoh_ext_Deserialize_deserialize() { let _ = || used(<u8 as zonda::ext::Deserialize>::deserialize(any())); }
fn trait_zenoh_ext_ExtractSample() { use zonda::ext::ExtractSample as _; }
fn method_zenoh_ext_ExtractSample_extract() { let _ = |it: zonda::query::Reply| zonda::ext::ExtractSample::extract(it); }
fn struct_zenoh_ext_FetchingSubscriber() { use zonda::ext::FetchingSubscriber as _; }
fn method_zenoh_ext_FetchingSubscriber_fetch() { let _ = |it: zonda::ext::FetchingSubscriber| used(it.fetch(|reply: Box<dyn Fn(Reply) + Send + Sync>| Ok(reply(any())))); }
fn method_zenoh_ext_FetchingSubscriber_key_expr() { let _ = || used(<zonda::ext::FetchingSubscriber<FifoChannelHandler<Sample>>>::key_expr(any())); }
fn method_zenoh_ext_FetchingSubscriber_undeclare() { let _ = || used(<zonda::ext::FetchingSubscriber<FifoChannelHandler<Sample>>>::undeclare(any())); }
fn struct_zenoh_ext_FetchingSubscriberBuilder() { use zonda::ext::FetchingSubscriberBuilder as _; }
fn method_zenoh_ext_FetchingSubscriberBuilder_allowed_origin() { let _ = || used(<zonda::ext::FetchingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace, Fetch, Reply>>::allowed_origin(any(), any())); }
fn method_zenoh_ext_FetchingSubscriberBuilder_background() { let _ = || used(<zonda::ext::FetchingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace, Fetch, Reply, zonda::handlers::Callback<Sample>>>::background(any())); }
fn method_zenoh_ext_FetchingSubscriberBuilder_callback() { let _ = || used(<zonda::ext::FetchingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace, Fetch, Reply>>::callback(any(), |_| ())); }
fn method_zenoh_ext_FetchingSubscriberBuilder_callback_mut() { let _ = || used(<zonda::ext::FetchingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace, Fetch, Reply>>::callback_mut(any(), |_| ())); }
fn method_zenoh_ext_FetchingSubscriberBuilder_with() { let _ = || used(<zonda::ext::FetchingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace, Fetch, Reply>>::with(any(), DefaultHandler::default())); }
fn struct_zenoh_ext_HistoryConfig() { use zonda::ext::HistoryConfig as _; }
fn method_zenoh_ext_HistoryConfig_detect_late_publishers() { let _ = || used(<zonda::ext::HistoryConfig>::detect_late_publishers(any())); }
fn method_zenoh_ext_HistoryConfig_max_age() { let _ = || used(<zonda::ext::HistoryConfig>::max_age(any(), any())); }
fn method_zenoh_ext_HistoryConfig_max_samples() { let _ = || used(<zonda::ext::HistoryConfig>::max_samples(any(), any())); }
fn enum_zenoh_ext_KeySpace() { use zonda::ext::KeySpace as _; }
fn variant_zenoh_ext_KeySpace_Liveliness() { use zonda::ext::KeySpace::Liveliness as _; }
fn variant_zenoh_ext_KeySpace_User() { use zonda::ext::KeySpace::User as _; }
fn struct_zenoh_ext_LivelinessSpace() { use zonda::ext::LivelinessSpace as _; }
fn struct_zenoh_ext_Miss() { use zonda::ext::Miss as _; }
fn method_zenoh_ext_Miss_nb() { let _ = || used(<zonda::ext::Miss>::nb(any())); }
fn method_zenoh_ext_Miss_source() { let _ = || used(<zonda::ext::Miss>::source(any())); }
fn struct_zenoh_ext_MissDetectionConfig() { use zonda::ext::MissDetectionConfig as _; }
fn method_zenoh_ext_MissDetectionConfig_heartbeat() { let _ = || used(<zonda::ext::MissDetectionConfig>::heartbeat(any(), any())); }
fn method_zenoh_ext_MissDetectionConfig_sporadic_heartbeat() { let _ = || used(<zonda::ext::MissDetectionConfig>::sporadic_heartbeat(any(), any())); }
fn struct_zenoh_ext_PublicationCache() { use zonda::ext::PublicationCache as _; }
fn method_zenoh_ext_PublicationCache_key_expr() { let _ = || used(<zonda::ext::PublicationCache>::key_expr(any())); }
fn method_zenoh_ext_PublicationCache_undeclare() { let _ = || used(<zonda::ext::PublicationCache>::undeclare(any())); }
fn struct_zenoh_ext_PublicationCacheBuilder() { use zonda::ext::PublicationCacheBuilder as _; }
fn method_zenoh_ext_PublicationCacheBuilder_background() { let _ = || used(<zonda::ext::PublicationCacheBuilder>::background(any())); }
fn method_zenoh_ext_PublicationCacheBuilder_history() { let _ = || used(<zonda::ext::PublicationCacheBuilder>::history(any(), any())); }
fn method_zenoh_ext_PublicationCacheBuilder_queryable_allowed_origin() { let _ = || used(<zonda::ext::PublicationCacheBuilder>::queryable_allowed_origin(any(), any())); }
fn method_zenoh_ext_PublicationCacheBuilder_queryable_complete() { let _ = || used(<zonda::ext::PublicationCacheBuilder>::queryable_complete(any(), any())); }
fn method_zenoh_ext_PublicationCacheBuilder_queryable_suffix() { let _ = || used(<zonda::ext::PublicationCacheBuilder>::queryable_suffix(any(), "a")); }
fn method_zenoh_ext_PublicationCacheBuilder_resources_limit() { let _ = || used(<zonda::ext::PublicationCacheBuilder>::resources_limit(any(), any())); }
fn struct_zenoh_ext_QueryingSubscriberBuilder() { use zonda::ext::QueryingSubscriberBuilder as _; }
fn method_zenoh_ext_QueryingSubscriberBuilder_allowed_origin() { let _ = || used(<zonda::ext::QueryingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace>>::allowed_origin(any(), any())); }
fn method_zenoh_ext_QueryingSubscriberBuilder_background() { let _ = || used(<zonda::ext::QueryingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace, zonda::handlers::Callback<Sample>>>::background(any())); }
fn method_zenoh_ext_QueryingSubscriberBuilder_callback() { let _ = || used(<zonda::ext::QueryingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace>>::callback(any(), |_| ())); }
fn method_zenoh_ext_QueryingSubscriberBuilder_callback_mut() { let _ = || used(<zonda::ext::QueryingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace>>::callback_mut(any(), |_| ())); }
fn method_zenoh_ext_QueryingSubscriberBuilder_query_accept_replies() { let _ = || used(<zonda::ext::QueryingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace>>::query_accept_replies(any(), any())); }
fn method_zenoh_ext_QueryingSubscriberBuilder_query_consolidation() { let _ = || used(<zonda::ext::QueryingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace>>::query_consolidation(any(), zonda::query::ConsolidationMode::None)); }
fn method_zenoh_ext_QueryingSubscriberBuilder_query_selector() { let _ = || used(<zonda::ext::QueryingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace>>::query_selector(any(), "a")); }
fn method_zenoh_ext_QueryingSubscriberBuilder_query_target() { let _ = || used(<zonda::ext::QueryingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace>>::query_target(any(), any())); }
fn method_zenoh_ext_QueryingSubscriberBuilder_query_timeout() { let _ = || used(<zonda::ext::QueryingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace>>::query_timeout(any(), any())); }
fn method_zenoh_ext_QueryingSubscriberBuilder_with() { let _ = || used(<zonda::ext::QueryingSubscriberBuilder<'static, 'static, zonda::ext::UserSpace>>::with(any(), DefaultHandler::default())); }
fn struct_zenoh_ext_RecoveryConfig() { use zonda::ext::RecoveryConfig as _; }
fn method_zenoh_ext_RecoveryConfig_heartbeat() { let _ = || used(<zonda::ext::RecoveryConfig<false>>::heartbeat(any())); }
fn method_zenoh_ext_RecoveryConfig_periodic_queries() { let _ = || used(<zonda::ext::RecoveryConfig<false>>::periodic_queries(any(), any())); }
fn method_zenoh_ext_RecoveryConfig_retention_period() { let _ = || used(<zonda::ext::RecoveryConfig<false>>::retention_period(any(), any())); }
fn struct_zenoh_ext_RepliesConfig() { use zonda::ext::RepliesConfig as _; }
fn method_zenoh_ext_RepliesConfig_congestion_control() { let _ = || used(<zonda::ext::RepliesConfig>::congestion_control(any(), any())); }
fn method_zenoh_ext_RepliesConfig_express() { let _ = || used(<zonda::ext::RepliesConfig>::express(any(), any())); }
fn method_zenoh_ext_RepliesConfig_priority() { let _ = || used(<zonda::ext::RepliesConfig>::priority(any(), any())); }
fn struct_zenoh_ext_SampleMissHandlerUndeclaration() { mod other { pub type SampleMissHandlerUndeclaration = (); } use other::*; use zonda::ext::*; let _: SampleMissHandlerUndeclaration; }
fn struct_zenoh_ext_SampleMissListener() { use zonda::ext::SampleMissListener as _; }
fn method_zenoh_ext_SampleMissListener_undeclare() { let _ = || used(<zonda::ext::SampleMissListener<FifoChannelHandler<zonda::ext::Miss>>>::undeclare(any())); }
fn struct_zenoh_ext_SampleMissListenerBuilder() { use zonda::ext::SampleMissListenerBuilder as _; }
fn method_zenoh_ext_SampleMissListenerBuilder_background() { let _ = || used(<zonda::ext::SampleMissListenerBuilder<'static, zonda::handlers::Callback<zonda::ext::Miss>>>::background(any())); }
fn method_zenoh_ext_SampleMissListenerBuilder_callback() { let _ = || used(<zonda::ext::SampleMissListenerBuilder<'static, DefaultHandler>>::callback(any(), |_| ())); }
fn method_zenoh_ext_SampleMissListenerBuilder_callback_mut() { let _ = || used(<zonda::ext::SampleMissListenerBuilder<'static, DefaultHandler>>::callback_mut(any(), |_| ())); }
fn method_zenoh_ext_SampleMissListenerBuilder_with() { let _ = || used(<zonda::ext::SampleMissListenerBuilder<'static, DefaultHandler>>::with(any(), DefaultHandler::default())); }
fn trait_zenoh_ext_Serialize() { use zonda::ext::Serialize as _; }
fn method_zenoh_ext_Serialize_serialize() { let _ = || used(<u8 as zonda::ext::Serialize>::serialize(any(), any())); }
fn trait_zenoh_ext_SessionExt() { use zonda::ext::SessionExt as _; }
fn method_zenoh_ext_SessionExt_declare_publication_cache() { let _ = || used(<Session as zonda::ext::SessionExt>::declare_publication_cache(any(), "a")); }
fn trait_zenoh_ext_SubscriberBuilderExt() { use zonda::ext::SubscriberBuilderExt as _; }
fn type_of_a_trait_zenoh_ext_SubscriberBuilderExt_KeySpace() { let _: Option<<zonda::pubsub::SubscriberBuilder<'static, 'static, DefaultHandler> as zonda::ext::SubscriberBuilderExt<'static, 'static, DefaultHandler>>::KeySpace>; }
fn method_zenoh_ext_SubscriberBuilderExt_fetching() { let _ = |it: zonda::pubsub::SubscriberBuilder<'static, 'static>| used(zonda::ext::SubscriberBuilderExt::fetching(it, |reply: Box<dyn Fn(Reply) + Send + Sync>| Ok(reply(any())))); }
fn method_zenoh_ext_SubscriberBuilderExt_querying() { let _ = || used(<zonda::pubsub::SubscriberBuilder<'static, 'static, DefaultHandler> as zonda::ext::SubscriberBuilderExt<'static, 'static, DefaultHandler>>::querying(any())); }
fn trait_zenoh_ext_SubscriberForward() { use zonda::ext::SubscriberForward as _; }
fn type_of_a_trait_zenoh_ext_SubscriberForward_Output() { let _: Option<<zonda::pubsub::Subscriber<FifoChannelHandler<Sample>> as zonda::ext::SubscriberForward<'static, zonda::pubsub::Publisher<'static>>>::Output>; }
fn method_zenoh_ext_SubscriberForward_forward() { let _ = || used(<zonda::pubsub::Subscriber<FifoChannelHandler<Sample>> as zonda::ext::SubscriberForward<'static, zonda::pubsub::Publisher<'static>>>::forward(any(), any())); }
fn struct_zenoh_ext_UserSpace() { use zonda::ext::UserSpace as _; }
fn struct_zenoh_ext_ZDeserializeError() { use zonda::ext::ZDeserializeError as _; }
fn struct_zenoh_ext_ZDeserializer() { use zonda::ext::ZDeserializer as _; }
fn method_zenoh_ext_ZDeserializer_deserialize() { let _ = || any::<zonda::ext::ZDeserializer>().deserialize::<u8>(); }
fn method_zenoh_ext_ZDeserializer_deserialize_iter() { let _ = || used(any::<zonda::ext::ZDeserializer>().deserialize_iter::<u8>()); }
fn method_zenoh_ext_ZDeserializer_done() { let _ = || used(<zonda::ext::ZDeserializer>::done(any())); }
fn method_zenoh_ext_ZDeserializer_new() { let _ = || used(<zonda::ext::ZDeserializer>::new(any())); }
fn struct_zenoh_ext_ZReadIter() { use zonda::ext::ZReadIter as _; }
fn struct_zenoh_ext_ZSerializer() { use zonda::ext::ZSerializer as _; }
fn method_zenoh_ext_ZSerializer_finish() { let _ = || used(<zonda::ext::ZSerializer>::finish(any())); }
fn method_zenoh_ext_ZSerializer_new() { let _ = || used(<zonda::ext::ZSerializer>::new()); }
fn method_zenoh_ext_ZSerializer_serialize() { let _ = || used(<zonda::ext::ZSerializer>::serialize(any(), 1_u8)); }
fn method_zenoh_ext_ZSerializer_serialize_iter() { let _ = || used(<zonda::ext::ZSerializer>::serialize_iter(any(), [1_u8])); }
fn module_zenoh_ext_group() { mod other { pub type group = (); } use other::*; use zonda::ext::*; let _: group; }
fn function_zenoh_ext_z_deserialize() { use zonda::ext::z_deserialize as _; }
fn function_zenoh_ext_z_serialize() { use zonda::ext::z_serialize as _; }
