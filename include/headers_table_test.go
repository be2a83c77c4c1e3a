package include

// The numbers of the ABI, written out: no header may change one of them. Layouts are those of 64-bit System V targets;
// `type.field` stands for an offset, a bare type for its size.

var ffiLayout = map[string]int{
	"DLDevice": 8, "DLDevice.device_type": 0, "DLDevice.device_id": 4,
	"DLDataType": 4, "DLDataType.code": 0, "DLDataType.bits": 1, "DLDataType.lanes": 2,
	"DLTensor": 48, "DLTensor.data": 0, "DLTensor.device": 8, "DLTensor.ndim": 16, "DLTensor.dtype": 20,
	"DLTensor.shape": 24, "DLTensor.strides": 32, "DLTensor.byte_offset": 40,
	"DLManagedTensor": 64, "DLManagedTensor.dl_tensor": 0, "DLManagedTensor.manager_ctx": 48,
	"DLManagedTensor.deleter": 56,
	"DLPackVersion":           8, "DLManagedTensorVersioned": 80, "DLManagedTensorVersioned.version": 0,
	"DLManagedTensorVersioned.manager_ctx": 8, "DLManagedTensorVersioned.deleter": 16,
	"DLManagedTensorVersioned.flags":     24,
	"DLManagedTensorVersioned.dl_tensor": 32,
	"DLPackExchangeAPIHeader":            16, "DLPackExchangeAPIHeader.prev_api": 8,
	"DLPackExchangeAPI": 56, "DLPackExchangeAPI.managed_tensor_allocator": 16,
	"DLPackExchangeAPI.managed_tensor_from_py_object_no_sync": 24,
	"DLPackExchangeAPI.managed_tensor_to_py_object_no_sync":   32,
	"DLPackExchangeAPI.dltensor_from_py_object_no_sync":       40, "DLPackExchangeAPI.current_work_stream": 48,

	"TVMFFIVersion": 12, "TVMFFIVersion.major": 0, "TVMFFIVersion.minor": 4, "TVMFFIVersion.patch": 8,
	"TVMFFIAny": 16, "TVMFFIAny.type_index": 0, "TVMFFIAny.zero_padding": 4, "TVMFFIAny.small_str_len": 4,
	"TVMFFIAny.v_int64": 8, "TVMFFIAny.v_float64": 8, "TVMFFIAny.v_ptr": 8, "TVMFFIAny.v_c_str": 8, "TVMFFIAny.v_obj": 8,
	"TVMFFIAny.v_dtype": 8, "TVMFFIAny.v_device": 8, "TVMFFIAny.v_bytes": 8, "TVMFFIAny.v_uint64": 8,
	"TVMFFIObject": 24, "TVMFFIObject.combined_ref_count": 0, "TVMFFIObject.type_index": 8, "TVMFFIObject.__padding": 12,
	"TVMFFIObject.deleter": 16, "TVMFFIObject.__ensure_align": 16,
	"TVMFFIByteArray": 16, "TVMFFIByteArray.data": 0, "TVMFFIByteArray.size": 8,
	"TVMFFIShapeCell": 16, "TVMFFIShapeCell.data": 0, "TVMFFIShapeCell.size": 8,
	"TVMFFISeqCell": 32, "TVMFFISeqCell.data": 0, "TVMFFISeqCell.size": 8, "TVMFFISeqCell.capacity": 16,
	"TVMFFISeqCell.data_deleter": 24,
	"TVMFFIErrorCell":            72, "TVMFFIErrorCell.kind": 0, "TVMFFIErrorCell.message": 16,
	"TVMFFIErrorCell.backtrace":        32,
	"TVMFFIErrorCell.update_backtrace": 48, "TVMFFIErrorCell.cause_chain": 56, "TVMFFIErrorCell.extra_context": 64,
	"TVMFFIFunctionCell": 16, "TVMFFIFunctionCell.safe_call": 0, "TVMFFIFunctionCell.cpp_call": 8,
	"TVMFFIOpaqueObjectCell": 8, "TVMFFIObjectAllocHeader": 8,
	"TVMFFICustomAllocator": 16, "TVMFFICustomAllocator.allocate": 0, "TVMFFICustomAllocator.context": 8,
	"TVMFFIFieldInfo": 120, "TVMFFIFieldInfo.name": 0, "TVMFFIFieldInfo.doc": 16, "TVMFFIFieldInfo.metadata": 32,
	"TVMFFIFieldInfo.flags": 48, "TVMFFIFieldInfo.size": 56, "TVMFFIFieldInfo.alignment": 64, "TVMFFIFieldInfo.offset": 72,
	"TVMFFIFieldInfo.getter": 80, "TVMFFIFieldInfo.setter": 88, "TVMFFIFieldInfo.default_value_or_factory": 96,
	"TVMFFIFieldInfo.field_static_type_index": 112,
	"TVMFFIMethodInfo":                        72, "TVMFFIMethodInfo.name": 0, "TVMFFIMethodInfo.doc": 16,
	"TVMFFIMethodInfo.metadata": 32,
	"TVMFFIMethodInfo.flags":    48, "TVMFFIMethodInfo.method": 56,
	"TVMFFITypeMetadata": 32, "TVMFFITypeMetadata.doc": 0, "TVMFFITypeMetadata.creator": 16,
	"TVMFFITypeMetadata.total_size": 24, "TVMFFITypeMetadata.structural_eq_hash_kind": 28,
	"TVMFFITypeAttrColumn": 16, "TVMFFITypeAttrColumn.data": 0, "TVMFFITypeAttrColumn.size": 8,
	"TVMFFITypeAttrColumn.begin_index": 12,
	"TVMFFITypeInfo":                   72, "TVMFFITypeInfo.type_index": 0, "TVMFFITypeInfo.type_depth": 4,
	"TVMFFITypeInfo.type_key":       8,
	"TVMFFITypeInfo.type_ancestors": 24, "TVMFFITypeInfo.type_key_hash": 32, "TVMFFITypeInfo.num_fields": 40,
	"TVMFFITypeInfo.num_methods": 44, "TVMFFITypeInfo.fields": 48, "TVMFFITypeInfo.methods": 56,
	"TVMFFITypeInfo.metadata": 64,
	"TVMFFITypeIndex":         4, "TVMFFIDefRegionKind": 4, "TVMFFISEqHashKind": 4, "DLDeviceType": 4,
}

var ffiNumbers = map[string]int{
	"DLPACK_MAJOR_VERSION": 1, "DLPACK_MINOR_VERSION": 3, "DLPACK_FLAG_BITMASK_READ_ONLY": 1,
	"DLPACK_FLAG_BITMASK_IS_COPIED": 2, "DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED": 4,
	"TVM_FFI_VERSION_MAJOR": 0, "TVM_FFI_VERSION_MINOR": 1, "TVM_FFI_VERSION_PATCH": 16,

	"kDLCPU": 1, "kDLCUDA": 2, "kDLCUDAHost": 3, "kDLOpenCL": 4, "kDLVulkan": 7, "kDLMetal": 8, "kDLVPI": 9, "kDLROCM": 10,
	"kDLROCMHost": 11, "kDLExtDev": 12, "kDLCUDAManaged": 13, "kDLOneAPI": 14, "kDLWebGPU": 15, "kDLHexagon": 16,
	"kDLMAIA": 17, "kDLTrn": 18,
	"kDLInt": 0, "kDLUInt": 1, "kDLFloat": 2, "kDLOpaqueHandle": 3, "kDLBfloat": 4, "kDLComplex": 5, "kDLBool": 6,
	"kDLFloat8_e3m4": 7, "kDLFloat8_e4m3": 8, "kDLFloat8_e4m3b11fnuz": 9, "kDLFloat8_e4m3fn": 10, "kDLFloat8_e4m3fnuz": 11,
	"kDLFloat8_e5m2": 12, "kDLFloat8_e5m2fnuz": 13, "kDLFloat8_e8m0fnu": 14, "kDLFloat6_e2m3fn": 15,
	"kDLFloat6_e3m2fn": 16,
	"kDLFloat4_e2m1fn": 17,

	"kTVMFFIAny": -1, "kTVMFFINone": 0, "kTVMFFIInt": 1, "kTVMFFIBool": 2, "kTVMFFIFloat": 3, "kTVMFFIOpaquePtr": 4,
	"kTVMFFIDataType": 5, "kTVMFFIDevice": 6, "kTVMFFIDLTensorPtr": 7, "kTVMFFIRawStr": 8, "kTVMFFIByteArrayPtr": 9,
	"kTVMFFIObjectRValueRef": 10, "kTVMFFISmallStr": 11, "kTVMFFISmallBytes": 12, "kTVMFFIUnchanged": 13,
	"kTVMFFIStaticObjectBegin": 64, "kTVMFFIObject": 64, "kTVMFFIStr": 65, "kTVMFFIBytes": 66, "kTVMFFIError": 67,
	"kTVMFFIFunction": 68, "kTVMFFIShape": 69, "kTVMFFITensor": 70, "kTVMFFIArray": 71, "kTVMFFIMap": 72,
	"kTVMFFIModule":         73,
	"kTVMFFIOpaquePyObject": 74, "kTVMFFIList": 75, "kTVMFFIDict": 76, "kTVMFFIVisitInterrupt": 77, "kTVMFFIBigInt": 78,
	"kTVMFFIStaticObjectEnd": 79, "kTVMFFIDynObjectBegin": 128,
	"kTVMFFIObjectDeleterFlagBitMaskStrong": 1, "kTVMFFIObjectDeleterFlagBitMaskWeak": 2,
	"kTVMFFIObjectDeleterFlagBitMaskBoth": 3, "kTVMFFIBacktraceUpdateModeReplace": 0,
	"kTVMFFIBacktraceUpdateModeAppend": 1,
	"kTVMFFIFieldFlagBitMaskWritable":  1, "kTVMFFIFieldFlagBitMaskHasDefault": 2,
	"kTVMFFIFieldFlagBitMaskIsStaticMethod": 4,
	"kTVMFFIFieldFlagBitMaskSEqHashIgnore":  8, "kTVMFFIFieldFlagBitMaskSEqHashDefPattern": 16,
	"kTVMFFIFieldFlagBitMaskDefaultFromFactory": 32, "kTVMFFIFieldFlagBitMaskReprOff": 64,
	"kTVMFFIFieldFlagBitMaskCompareOff": 128, "kTVMFFIFieldFlagBitMaskHashOff": 256, "kTVMFFIFieldFlagBitMaskInitOff": 512,
	"kTVMFFIFieldFlagBitMaskKwOnly": 1024, "kTVMFFIFieldFlagBitSetterIsFunctionObj": 2048,
	"kTVMFFIFieldFlagBitMaskSEqHashDefSimple": 4096,
	"kTVMFFISEqHashKindUnsupported":           0, "kTVMFFISEqHashKindTreeNode": 1, "kTVMFFISEqHashKindFreeVar": 2,
	"kTVMFFISEqHashKindDAGNode": 3, "kTVMFFISEqHashKindConstTreeNode": 4, "kTVMFFISEqHashKindUniqueInstance": 5,
	"kTVMFFIDefRegionKindNone": 0, "kTVMFFIDefRegionKindPattern": 1, "kTVMFFIDefRegionKindSimple": 2,
}

var classicLayout = map[string]int{
	"tvm_index_t": 8, "TVMValue": 8, "TVMArgTypeCode": 4, "TVMDeviceExtType": 4,
	"TVMByteArray": 16, "TVMByteArray.data": 0, "TVMByteArray.size": 8,
	"TVMParallelGroupEnv": 16, "TVMParallelGroupEnv.sync_handle": 0, "TVMParallelGroupEnv.num_task": 8,
	"TVMModuleHandle": 8, "TVMFunctionHandle": 8, "TVMRetValueHandle": 8, "TVMStreamHandle": 8, "TVMObjectHandle": 8,
	"TVMArrayHandle": 8,
}

var classicNumbers = map[string]int{
	"kTVMArgInt": 0, "kTVMArgFloat": 2, "kTVMOpaqueHandle": 3, "kTVMNullptr": 4, "kTVMDataType": 5, "kDLDevice": 6,
	"kTVMDLTensorHandle": 7, "kTVMObjectHandle": 8, "kTVMModuleHandle": 9, "kTVMPackedFuncHandle": 10, "kTVMStr": 11,
	"kTVMBytes": 12, "kTVMNDArrayHandle": 13, "kTVMObjectRValueRefArg": 14, "kTVMArgBool": 15, "kTVMExtBegin": 16,
	"kTVMNNVMFirst": 16, "kTVMNNVMLast": 20, "kTVMExtReserveEnd": 64, "kTVMExtEnd": 128,
	"kHandle": 3, "kNull": 4, "kTVMType": 5, "kTVMContext": 6, "kArrayHandle": 7, "kNodeHandle": 8, "kObjectCell": 8,
	"kModuleHandle": 9, "kFuncHandle": 10, "kStr": 11, "kBytes": 12, "kNDArrayContainer": 13,
	"kDLAOCL": 32, "kDLSDAccel": 33, "kOpenGL": 34, "kDLMicroDev": 35, "TVMDeviceExtType_End": 36,
}

// A device that was compiled with an older header must find its fields at their offsets: add new fields at the end
// here, too.
var deviceFields = []string{"struct_size", "self", "set_device", "get_attr", "alloc_data_space", "free_data_space",
	"copy_data_from_to", "stream_sync", "create_stream", "free_stream", "set_stream", "sync_stream_from_to",
	"alloc_workspace",
	"free_workspace", "alloc_data_space_with_scope", "timer_create", "timer_start", "timer_stop", "timer_elapsed_ns",
	"timer_free",
	"memory_stats", "pinned_alloc", "pinned_free", "event_create", "event_record", "event_wait", "event_sync",
	"event_query",
	"event_free", "target_property", "alloc_on_stream", "free_on_stream", "capture_begin", "capture_end", "graph_launch",
	"graph_free",
	"stream_priority_range", "create_stream_with_priority"}

var deviceLayout = map[string]int{
	"TVMGODeviceSpec": 56, "TVMGODeviceSpec.struct_size": 0, "TVMGODeviceSpec.device_type": 8, "TVMGODeviceSpec.name": 16,
	"TVMGODeviceSpec.aliases": 24, "TVMGODeviceSpec.api": 32, "TVMGODeviceSpec.create": 40, "TVMGODeviceSpec.ctx": 48,
	"TVMGOMemoryStats": 72, "TVMGOMemoryStats.total_bytes": 8, "TVMGOMemoryStats.free_bytes": 16,
	"TVMGOMemoryStats.data_bytes": 24, "TVMGOMemoryStats.data_peak_bytes": 32, "TVMGOMemoryStats.data_count": 40,
	"TVMGOMemoryStats.workspace_bytes": 48, "TVMGOMemoryStats.workspace_in_use_bytes": 56,
	"TVMGOMemoryStats.pinned_bytes": 64,
}

var deviceNumbers = map[string]int{
	"kTVMGODeviceAttrExist": 0, "kTVMGODeviceAttrMaxThreadsPerBlock": 1, "kTVMGODeviceAttrWarpSize": 2,
	"kTVMGODeviceAttrMaxSharedMemoryPerBlock": 3, "kTVMGODeviceAttrComputeVersion": 4, "kTVMGODeviceAttrDeviceName": 5,
	"kTVMGODeviceAttrMaxClockRate": 6, "kTVMGODeviceAttrMultiProcessorCount": 7, "kTVMGODeviceAttrMaxThreadDimensions": 8,
	"kTVMGODeviceAttrMaxRegistersPerBlock": 9, "kTVMGODeviceAttrGcnArch": 10, "kTVMGODeviceAttrApiVersion": 11,
	"kTVMGODeviceAttrDriverVersion": 12, "kTVMGODeviceAttrL2CacheSizeBytes": 13, "kTVMGODeviceAttrTotalGlobalMemory": 14,
	"kTVMGODeviceAttrAvailableGlobalMemory": 15, "kTVMGODeviceAttrImagePitchAlignment": 16,
}
