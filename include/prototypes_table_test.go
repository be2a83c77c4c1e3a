package include

// Signatures with base types. A C compiler rejects a second declaration that differs from the first, so including these
// after a header checks the header. H is a handle, B a byte array, A an any value.

const prototypeTypes = `
typedef void* H; typedef const TVMFFIByteArray* B; typedef TVMFFIAny* A; typedef const TVMFFIAny* CA;
`

const ffiPrototypes = `
void TVMFFIGetVersion(TVMFFIVersion*);
int TVMFFIObjectIncRef(H); int TVMFFIObjectDecRef(H);
int TVMFFIObjectCreateOpaque(H, int32_t, void (*)(H), H*);
TVMFFICustomAllocator* TVMFFIGetCustomAllocator(void); int TVMFFISetCustomAllocator(TVMFFICustomAllocator*);
int TVMFFITypeKeyToIndex(B, int32_t*);
int TVMFFIFunctionCreate(H, int (*)(H, CA, int32_t, A), void (*)(H), H*);
int TVMFFIFunctionGetGlobal(B, H*);
int TVMFFIAnyViewToOwnedAny(CA, A);
int TVMFFIFunctionCall(H, A, int32_t, A);
void TVMFFIErrorMoveFromRaised(H*); void TVMFFIErrorSetRaised(H);
void TVMFFIErrorSetRaisedFromCStr(const char*, const char*);
void TVMFFIErrorSetRaisedFromCStrParts(const char*, const char**, int32_t);
int TVMFFIErrorCreate(B, B, B, H*); int TVMFFIErrorCreateWithCauseAndExtraContext(B, B, B, H, H, H*);
int TVMFFITensorFromDLPack(DLManagedTensor*, int32_t, int32_t, H*); int TVMFFITensorToDLPack(H, DLManagedTensor**);
int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned*, int32_t, int32_t, H*);
int TVMFFITensorToDLPackVersioned(H, DLManagedTensorVersioned**);
int TVMFFITensorCreateUnsafeView(H, const DLTensor*, H*);
int TVMFFIStringFromByteArray(B, A); int TVMFFIBytesFromByteArray(B, A); int TVMFFIBigIntFromByteArray(B, A);
TVMFFIByteArray TVMFFIBigIntGetContentByteArray(CA);
int TVMFFIDataTypeFromString(B, DLDataType*); int TVMFFIDataTypeToString(const DLDataType*, A);
int TVMFFIFunctionSetGlobal(B, H, int); int TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo*, int);
int TVMFFITypeRegisterField(int32_t, const TVMFFIFieldInfo*);
int TVMFFITypeRegisterMethod(int32_t, const TVMFFIMethodInfo*);
int TVMFFITypeRegisterMetadata(int32_t, const TVMFFITypeMetadata*); int TVMFFITypeRegisterAttr(int32_t, B, CA);
const TVMFFITypeAttrColumn* TVMFFIGetTypeAttrColumn(B);
const TVMFFIByteArray* TVMFFIBacktrace(const char*, int, const char*, int);
int32_t TVMFFITypeGetOrAllocIndex(B, int32_t, int32_t, int32_t, int32_t, int32_t);
const TVMFFITypeInfo* TVMFFIGetTypeInfo(int32_t);
int TVMFFIHandleInitOnce(H*, int (*)(H*)); int TVMFFIHandleDeinitOnce(H*, int (*)(H));

int TVMFFIEnvSetStream(int32_t, int32_t, H, H*); H TVMFFIEnvGetStream(int32_t, int32_t);
int TVMFFIEnvSetDLPackManagedTensorAllocator(
    int (*)(DLTensor*, DLManagedTensorVersioned**, H, void (*)(H, const char*, const char*)), int,
    int (**)(DLTensor*, DLManagedTensorVersioned**, H, void (*)(H, const char*, const char*)));
DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator(void);
int TVMFFIEnvTensorAlloc(DLTensor*, H*);
int TVMFFIEnvCheckSignals(void); int TVMFFIEnvRegisterCAPI(const char*, H);
int TVMFFIEnvModLookupFromImports(H, const char*, H*);
int TVMFFIEnvModRegisterContextSymbol(const char*, H); int TVMFFIEnvModRegisterSystemLibSymbol(const char*, H);
`

const classicPrototypes = `
void TVMAPISetLastError(const char*); void TVMAPISetLastPythonError(H); H TVMGetLastPythonError(void);
const char* TVMGetLastError(void); const char* TVMGetLastBacktrace(void);
void TVMDropLastPythonError(void); void TVMThrowLastError(void);
int TVMModLoadFromFile(const char*, const char*, H*); int TVMModImport(H, H);
int TVMModGetFunction(H, const char*, int, H*); int TVMModFree(H);
int TVMFuncFree(H); int TVMFuncCall(H, TVMValue*, int*, int, TVMValue*, int*);
int TVMCFuncSetReturn(H, TVMValue*, int*, int); int TVMCbArgToReturn(TVMValue*, int*);
int TVMFuncCreateFromCFunc(int (*)(TVMValue*, int*, int, H, H), H, void (*)(H), H*);
int TVMFuncRegisterGlobal(const char*, H, int); int TVMFuncGetGlobal(const char*, H*);
int TVMFuncListGlobalNames(int*, const char***); int TVMFuncRemoveGlobal(const char*);
int TVMArrayAlloc(const int64_t*, int, int, int, int, int, int, DLTensor**); int TVMArrayFree(DLTensor*);
int TVMArrayCopyFromBytes(DLTensor*, H, size_t); int TVMArrayCopyToBytes(DLTensor*, H, size_t);
int TVMArrayCopyFromTo(DLTensor*, DLTensor*, H);
int TVMArrayFromDLPack(DLManagedTensor*, DLTensor**); int TVMArrayToDLPack(DLTensor*, DLManagedTensor**);
void TVMDLManagedTensorCallDeleter(DLManagedTensor*); int TVMArrayGetTypeIndex(DLTensor*, unsigned*);
int TVMStreamCreate(int, int, H*); int TVMStreamFree(int, int, H); int TVMSetStream(int, int, H);
int TVMSynchronize(int, int, H); int TVMStreamStreamSynchronize(int, int, H, H);
int TVMObjectGetTypeIndex(H, unsigned*); int TVMObjectTypeKey2Index(const char*, unsigned*);
int TVMObjectTypeIndex2Key(unsigned, char**); int TVMObjectRetain(H); int TVMObjectFree(H);
int TVMObjectDerivedFrom(uint32_t, uint32_t, int*); int TVMByteArrayFree(TVMByteArray*);
int TVMDeviceAllocDataSpace(DLDevice, size_t, size_t, DLDataType, H*);
int TVMDeviceAllocDataSpaceWithScope(DLDevice, int, const int64_t*, DLDataType, const char*, H*);
int TVMDeviceFreeDataSpace(DLDevice, H); int TVMDeviceCopyDataFromTo(DLTensor*, DLTensor*, H);

int TVMBackendGetFuncFromEnv(H, const char*, H*); int TVMBackendRegisterSystemLibSymbol(const char*, H);
H TVMBackendAllocWorkspace(int, int, uint64_t, int, int); int TVMBackendFreeWorkspace(int, int, H);
int TVMBackendRegisterEnvCAPI(const char*, H);
int TVMBackendParallelLaunch(int (*)(int, TVMParallelGroupEnv*, H), H, int);
int TVMBackendParallelBarrier(int, TVMParallelGroupEnv*); int TVMBackendRunOnce(H*, int (*)(H), H, int);
int TVMBackendAnyListSetPackedArg(H, int, A, int); int TVMBackendAnyListResetItem(H, int);
int TVMBackendAnyListMoveFromPackedReturn(H, int, A, int);
extern int (*declarer)(H); extern TVMExtensionFuncDeclarer declarer;
extern int (*backend)(TVMValue*, int*, int, TVMValue*, int*, H); extern TVMBackendPackedCFunc backend;
`
